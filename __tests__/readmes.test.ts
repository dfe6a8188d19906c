/**
 * Every TypeScript example of every README runs as it stands, offline, and fits the types. A block that cannot stand alone
 * is marked `ts fragment`, and is not counted as an example.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "@jest/globals";

const root = fileURLToPath(new URL("..", import.meta.url));
const readmes = [
  "README.md",
  ...["plugins", "examples"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith("README.md") && !path.includes("node_modules"))
      .map((path) => `${folder}/${path}`),
  ),
].sort();

interface Example {
  readonly readme: string;
  readonly name: string;
  readonly source: string;
}
const examples: Example[] = readmes.flatMap((readme) =>
  [...readFileSync(join(root, readme), "utf8").matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, source = ""], index) => ({
    readme,
    name: `${readme.replaceAll(/\W+/g, "-")}-${index + 1}`,
    source,
  })),
);

// Inside the project, so that the package's own name resolves, and in a folder that git does not see.
mkdirSync(join(root, ".caveman"), { recursive: true });
const dir = mkdtempSync(join(root, ".caveman", "readme-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

async function output(args: readonly string[], cwd: string): Promise<{ code: number | null; text: string }> {
  const { HOME = "", PATH = "" } = process.env;
  const child = spawn(process.execPath, args, { cwd, env: { HOME, PATH, NODE_NO_WARNINGS: "1" } });
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, text };
}

describe("the examples of the READMEs", () => {
  test("every plugin has one", () => {
    const plugins = readmes.filter((path) => /^plugins\/[^/]+\/README\.md$/.test(path));
    expect(plugins.filter((path) => !examples.some(({ readme }) => readme === path))).toEqual([]);
  });

  test.each(examples.map((example) => [example.name, example] as const))(
    "%s runs",
    async (name, { source }) => {
      const cwd = join(dir, name);
      mkdirSync(cwd);
      writeFileSync(join(cwd, "example.ts"), source);
      const { code, text } = await output(["--conditions=caveman-source", "example.ts"], cwd);
      expect({ code, text: code === 0 ? "" : text }).toEqual({ code: 0, text: "" });
    },
    60_000,
  );

  test("their types fit", async () => {
    writeFileSync(
      join(dir, "tsconfig.json"),
      JSON.stringify({ extends: "../../tsconfig.json", include: ["**/*.ts"], exclude: [] }),
    );
    const { code, text } = await output([join(root, "node_modules/typescript/bin/tsc"), "--noEmit", "-p", dir], root);
    expect({ code, text: code === 0 ? "" : text }).toEqual({ code: 0, text: "" });
  }, 120_000);
});
