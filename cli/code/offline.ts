/**
 * The session without a key: a script plays the model, on a copy of the example project in a temporary folder. The
 * script decides by what it reads; the files, the edit and the test runs are real.
 */
import { copyFile, mkdir, mkdtemp, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { LanguageModel } from "../../kernel/index.ts";
import { privateFolder, readPrivately, writePrivately } from "../../plugins/coding/index.ts";

/** Each named on its own, so that a build finds and ships them. */
const FILES: readonly (readonly [name: string, url: URL])[] = [
  ["package.json", new URL("../../examples/coding/project/package.json", import.meta.url)],
  ["AGENTS.md", new URL("../../examples/coding/project/AGENTS.md", import.meta.url)],
  ["src/cart.js", new URL("../../examples/coding/project/src/cart.js", import.meta.url)],
  ["src/money.js", new URL("../../examples/coding/project/src/money.js", import.meta.url)],
  ["test/cart.test.js", new URL("../../examples/coding/project/test/cart.test.js", import.meta.url)],
];
/** Says that a folder is a copy of ours, on which the script may work again. */
const MARK = "example.json";

/** A fresh copy of the example project. */
export async function exampleCopy(): Promise<string> {
  const workspace = await realpath(await mkdtemp(join(tmpdir(), "caveman-code-example-")));
  for (const [name, url] of FILES) {
    await mkdir(dirname(join(workspace, name)), { recursive: true });
    await copyFile(fileURLToPath(url), join(workspace, name));
  }
  await writePrivately(join(await privateFolder(workspace), MARK), "{}\n");
  return workspace;
}

/** Whether a folder is a copy that this program made. */
export const isExampleCopy = (workspace: string): Promise<boolean> =>
  readPrivately(join(workspace, ".caveman", "sessions", MARK), 1_000).then(
    () => true,
    () => false,
  );

/** The scripted model of the example. */
export async function exampleModel(): Promise<LanguageModel> {
  const url = new URL("../../examples/coding/model.script.ts", import.meta.url);
  const [{ default: example }, { scripted }] = await Promise.all([
    import(url.href) as Promise<typeof import("../../examples/coding/model.script.ts")>,
    import("../../plugins/testing.ts"),
  ]);
  return scripted(example.script, { as: example.as });
}
