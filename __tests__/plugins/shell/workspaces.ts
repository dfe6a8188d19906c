/** Workspaces for tests, and tool calls through the kernel as a model makes them. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  agent,
  createKernel,
  definePlugin,
  type Plugin,
  type Run,
  schema,
  textOf,
  tool,
} from "../../../kernel/index.ts";
import { scripted } from "../../../plugins/providers/scripted/index.ts";
import { StoredOutputs } from "../../../plugins/services.ts";
import { type ShellToolsOptions, shell } from "../../../plugins/shell/index.ts";
import { models } from "../../support/harness.ts";

export interface Answer {
  readonly text: string;
  readonly isError: boolean;
  readonly code?: string;
}
export interface World extends AsyncDisposable {
  /** Holds the workspace, and beside it what lies outside. */
  readonly base: string;
  readonly workspace: string;
  readonly run: Run;
  /** The texts that were kept whole, by handle. */
  readonly kept: Map<string, string>;
  path(name: string): string;
  file(name: string, content?: string | Uint8Array): string;
  call(name: string, input: unknown): Promise<Answer>;
  /** The text of a call that has to succeed. */
  ok(name: string, input: unknown): Promise<string>;
  /** Settles the run, as its end does. */
  close(): Promise<void>;
}

/** Stands in for the results plugin: keeps texts, and offers the tool that pages them. */
const keeping = (kept: Map<string, string>): Plugin =>
  definePlugin({
    name: "results",
    tools: () => [pager],
    apply(kernel) {
      kernel.provide(StoredOutputs, () => ({
        keep(text, toolName) {
          const handle = `tool_${toolName}_${kept.size}`;
          kept.set(handle, text);
          return handle;
        },
        read: (handle) => kept.get(handle),
      }));
    },
  })();

const pager = tool({
  name: "read_tool_output",
  description: "Pages a stored output.",
  input: schema.object({ handle: schema.string() }),
  effect: "read",
  execute: () => "",
});

interface Setup extends Omit<Partial<ShellToolsOptions>, "tools"> {
  /** Whether there is a store for whole outputs. */
  readonly store?: boolean;
  readonly signal?: AbortSignal;
}

export async function world({ store = false, signal, ...options }: Setup = {}): Promise<World> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "caveman-shell-")));
  const workspace = options.workspace ?? join(base, "workspace");
  mkdirSync(join(base, "workspace"));
  const kept = new Map<string, string>();
  const kernel = createKernel({
    plugins: [models, ...(store ? [keeping(kept)] : []), shell({ workspace, ...options })],
  });
  const holder = agent({ id: "a", instructions: "i", model: scripted([{ text: "" }]), sandbox: "host" });
  const { run, close } = await kernel.open(holder, signal ? { signal } : {});
  let calls = 0;
  const call = async (name: string, input: unknown): Promise<Answer> => {
    const { output, isError, code } = await run.tool({ toolCallId: `c${++calls}`, name, input });
    return { text: textOf(output), isError, ...(code === undefined ? {} : { code }) };
  };
  return {
    base,
    workspace,
    run,
    kept,
    path: (name) => join(workspace, name),
    file(name, content = "") {
      const full = join(workspace, name);
      mkdirSync(dirname(full), { recursive: true });
      writeFileSync(full, content);
      return full;
    },
    call,
    async ok(name, input) {
      const answer = await call(name, input);
      if (answer.isError) throw new Error(`${name} failed: ${answer.text}`);
      return answer.text;
    },
    close: async () => void (await close()),
    async [Symbol.asyncDispose]() {
      await close();
      rmSync(base, { recursive: true, force: true });
    },
  };
}
