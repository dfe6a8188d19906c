/** Throwaway workspaces, coding sessions over scripted models, and what a model was sent. */
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  type CodingAgentOptions,
  type CodingSession,
  createCodingAgent,
  type StartOptions,
  startCodingSession,
} from "../../cli/code/index.ts";
import { type Script, type ScriptStep, scripted } from "../../plugins/testing.ts";

export interface Folder {
  readonly path: string;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function workspace(files: Readonly<Record<string, string>> = {}): Promise<Folder> {
  const path = await realpath(await mkdtemp(join(tmpdir(), "caveman-coding-")));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), content);
  }
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

type Request = Parameters<Extract<Script, (...args: never) => unknown>>[0];

/** A model that keeps what it was sent. */
export function listening(
  steps: readonly (ScriptStep | ((request: Request) => ScriptStep))[],
  as = "anthropic/claude-haiku-4-5",
) {
  const requests: Request[] = [];
  const model = scripted(
    (request, index) => {
      requests.push(request);
      const step = steps[index] ?? { text: "nothing more to say" };
      return typeof step === "function" ? step(request) : step;
    },
    { as },
  );
  return { model, requests };
}

/** Everything of the user's in a request, newest last. */
export const saidByUser = (request: Request | undefined): string[] =>
  (request?.prompt ?? []).flatMap((message) =>
    message.role === "user" ? message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])) : [],
  );
export const systemOf = (request: Request | undefined): string =>
  (request?.prompt ?? []).flatMap((message) => (message.role === "system" ? [message.content] : [])).join("\n");

export const write = (path: string, content = "x\n"): ScriptStep => ({
  toolCalls: [{ name: "write_file", input: { path, content } }],
});
export const bash = (command: string): ScriptStep => ({ toolCalls: [{ name: "bash", input: { command } }] });

export async function sessionIn(
  path: string,
  model: CodingAgentOptions["model"],
  options: StartOptions & { readonly agent?: CodingAgentOptions } = {},
): Promise<CodingSession> {
  const { agent: more, ...rest } = options;
  const agent = createCodingAgent({ workspace: path, ...(model ? { model } : {}), ...more });
  return startCodingSession(agent, rest);
}
