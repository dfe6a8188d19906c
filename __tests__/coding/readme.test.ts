import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "@jest/globals";
import { folder, node, ROOT } from "../cli/caveman.ts";

test("the README's example runs as it stands", async () => {
  const readme = await readFile(join(ROOT, "plugins/coding/README.md"), "utf8");
  const source = /```ts[^\n]*\n(?<source>[\s\S]*?)```/.exec(readme)?.groups?.source ?? "";
  await using place = await folder();
  const face = pathToFileURL(join(ROOT, "cli/code/index.ts")).href;
  await writeFile(join(place.path, "example.mts"), source.replace('"caveman-agent/coding"', JSON.stringify(face)));
  const { code, out, err } = await node(["example.mts"], place.path);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toMatch(/^\d+ \S+\.caveman\/sessions\/\S+\.json\n$/);
});
