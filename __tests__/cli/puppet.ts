/** A workspace whose scripted model does what it is told: the prompt is the JSON of the steps to play. */
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const SCRIPT = `
export default {
  as: "anthropic/claude-haiku-4-5",
  script: ({ prompt }) => {
    let asked = "[]";
    let step = 0;
    for (const message of prompt) {
      if (message.role === "assistant") step++;
      if (message.role !== "user") continue;
      asked = message.content.at(-1).text;
      step = 0;
    }
    if (asked === "echo") return { text: JSON.stringify(prompt) };
    return JSON.parse(asked)[step] ?? { text: "over" };
  },
};
`;

export async function puppet(): Promise<{ path: string; args: string[]; [Symbol.asyncDispose](): Promise<void> }> {
  const path = await realpath(await mkdtemp(join(tmpdir(), "caveman-puppet-")));
  await writeFile(join(path, "model.script.mjs"), SCRIPT);
  return {
    path,
    args: ["code", "--workspace", path, "--model", "sim/model.script"],
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

export const writing = (path: string, content = "x"): object => ({
  toolCalls: [{ name: "write_file", input: { path, content } }],
});
export const running = (command: string): object => ({ toolCalls: [{ name: "bash", input: { command } }] });
/** Whether a process with this word in its command line is there. */
export async function alive(word: string): Promise<boolean> {
  const { execFile } = await import("node:child_process");
  return new Promise((resolve) => execFile("pgrep", ["-f", `^sleep ${word}$`], (error) => resolve(error === null)));
}
