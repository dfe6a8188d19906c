/** Staging: which files a worker gets, and what is refused before one starts. */

import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { agent, type CavemanError, schema, subagent, tool } from "../../../kernel/index.ts";
import { agentDirectory, directoryEntry } from "../../../plugins/sandbox/agent-directory.ts";
import { encode, FrameReader, parsed } from "../../../plugins/sandbox/frames.ts";
import { importedNames, type SourceGraph, sourceGraph } from "../../../plugins/sandbox/graph.ts";
import { references, tokens } from "../../../plugins/sandbox/scan.ts";
import { graphOf, stage } from "../../../plugins/sandbox/stage.ts";

const dirs: string[] = [];
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
});

function project(files: Readonly<Record<string, string>>): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), "caveman-staging-test-")));
  dirs.push(dir);
  for (const [name, text] of Object.entries({ "package.json": '{"type":"module"}', ...files })) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
  return dir;
}
const graph = (dir: string, entry = "entry.ts"): Promise<SourceGraph> => sourceGraph(join(dir, entry), dir, "/nowhere");
const names = async (files: Readonly<Record<string, string>>): Promise<string[]> =>
  (await graph(project(files))).files.map(({ name }) => name).sort();
const refusal = (files: Readonly<Record<string, string>>): Promise<string> =>
  graph(project(files)).then(
    () => "none",
    (error: CavemanError) => `${error.code} ${error.detail.place?.split("/").at(-1)}`,
  );

describe("the source graph", () => {
  test("follows imports, re-exports, literal dynamic imports, URLs and JSON; types are no edges", async () => {
    const staged = await names({
      "entry.ts": `import a from "./a.ts"; import type { T } from "./types.ts"; export * from "./b.mts";
        import data from "./data.json" with { type: "json" };
        export const later = () => import("./later.js"); export const asset = new URL("./asset.txt", import.meta.url);
        // import("./comment.ts")
        export const text = 'require("./text.ts")' + String(a satisfies T) + data;`,
      "a.ts": "export default 1;",
      "b.mts": "export const b: number = 1;",
      "types.ts": "export type T = number;",
      "data.json": "1",
      "later.js": "export {};",
      "asset.txt": "asset",
      "comment.ts": "",
      "text.ts": "",
    });
    expect(staged).toEqual([
      "src/a.ts.mjs",
      "src/asset.txt",
      "src/b.mts.mjs",
      "src/data.json",
      "src/entry.ts.mjs",
      "src/later.js.mjs",
    ]);
  });

  test("rewrites each import to where its target is staged, and imports of the framework to its stand-in", async () => {
    const { files, frameworkNames } = await graph(
      project({
        "entry.ts":
          'import { agent, tool as made } from "caveman-agent"; import { shellTools } from "caveman-agent/plugins"; import x from "./lib/x.ts"; export default [agent, made, shellTools, x];',
        "lib/x.ts": "export default 1 as number;",
      }),
    );
    const entry = String(files[0]?.content);
    expect(entry).toContain('from "../framework.mjs"');
    expect(entry).toContain('from "../src/lib/x.ts.mjs"');
    expect(String(files[1]?.content)).toBe("export default 1          ;");
    expect(frameworkNames).toEqual(["agent", "shellTools", "tool"]);
  });

  test("resolves packages by their exports, conditions, patterns and CommonJS entry", async () => {
    const staged = await names({
      "entry.ts": 'import "one"; import "two/deep/a"; import "three";',
      "node_modules/one/package.json":
        '{"name":"one","type":"module","exports":{".":{"browser":"./no.js","import":"./yes.js"}}}',
      "node_modules/one/yes.js": 'import "#inner";',
      "node_modules/two/package.json": '{"name":"two","exports":{"./deep/*":"./lib/*.cjs"}}',
      "node_modules/two/lib/a.cjs":
        'require("./b"); try { require("not-there") } catch {} exports.x = require("node:fs");',
      "node_modules/two/lib/b.js": "exports.b = 1;",
      "node_modules/three/package.json": '{"name":"three","main":"./main"}',
      "node_modules/three/main.js": "module.exports = 3;",
    }).catch((error: CavemanError) => [error.code]);
    expect(staged).toEqual(["cave_sandbox_source_unresolved"]);
    const resolved = await names({
      "entry.ts": 'import "one"; import "two/deep/a"; import "three";',
      "node_modules/one/package.json":
        '{"name":"one","type":"module","exports":{".":{"browser":"./no.js","import":"./yes.js"}},"imports":{"#inner":"./inner.js"}}',
      "node_modules/one/yes.js": 'import "#inner";',
      "node_modules/one/inner.js": "",
      "node_modules/two/package.json": '{"name":"two","exports":{"./deep/*":"./lib/*.cjs"}}',
      "node_modules/two/lib/a.cjs":
        'require("./b"); try { require("not-there") } catch {} exports.x = require("node:fs");',
      "node_modules/two/lib/b.js": "exports.b = 1;",
      "node_modules/three/package.json": '{"name":"three","main":"./main"}',
      "node_modules/three/main.js": "module.exports = 3;",
    });
    expect(resolved).toEqual([
      "packages/0/inner.js.mjs",
      "packages/0/yes.js.mjs",
      "packages/1/lib/a.cjs.cjs",
      "packages/1/lib/b.js.cjs",
      "packages/2/main.js.cjs",
      "src/entry.ts.mjs",
    ]);
  });

  test.each([
    [
      "a computed import",
      { "entry.ts": 'const name = "./a.ts";\nawait import(name);' },
      "cave_sandbox_source_computed entry.ts:2",
    ],
    [
      "a template with a hole",
      { "entry.ts": "const n = 1; await import(`./a\u0024{n}.ts`);" },
      "cave_sandbox_source_computed entry.ts:1",
    ],
    [
      "a computed require",
      { "entry.ts": 'import "./c.cjs";', "c.cjs": 'require("./" + x);' },
      "cave_sandbox_source_computed c.cjs:1",
    ],
    [
      "an alias of require",
      { "entry.ts": 'import "./c.cjs";', "c.cjs": "\nconst load = require; load(1);" },
      "cave_sandbox_source_computed c.cjs:2",
    ],
    [
      "createRequire",
      { "entry.ts": 'import { createRequire } from "node:module"; createRequire(import.meta.url)("x");' },
      "cave_sandbox_source_computed entry.ts:1",
    ],
    [
      "a computed URL",
      { "entry.ts": "new URL(process.argv[2], import.meta.url);" },
      "cave_sandbox_source_computed entry.ts:1",
    ],
    ["a missing module", { "entry.ts": 'import "./gone.ts";' }, "cave_sandbox_source_unresolved entry.ts:1"],
    ["a missing package", { "entry.ts": 'import "no-such-package";' }, "cave_sandbox_source_unresolved entry.ts:1"],
    ["a native addon", { "entry.ts": 'import "./x.node";', "x.node": "" }, "cave_sandbox_source_unsupported x.node"],
    ["an enum", { "entry.ts": "export enum A { B }" }, "cave_sandbox_source_unsupported entry.ts"],
    ["what does not parse", { "entry.ts": "import {" }, "cave_sandbox_source_unsupported entry.ts"],
  ] as const)("refuses %s", async (_what, files, expected) => {
    expect(await refusal(files)).toBe(expected);
  });

  test("refuses paths and links that lead out of the root, and a folder in place of a file", async () => {
    const outside = project({ "secret.ts": "export default 1;" });
    const dir = project({
      "entry.ts": 'import "./link.ts";',
      "url.ts": 'export const u = new URL("./link.ts", import.meta.url);',
      "folder/x": "",
    });
    writeFileSync(join(dir, "climb.ts"), `import "../${basename(outside)}/secret.ts";`);
    symlinkSync(join(outside, "secret.ts"), join(dir, "link.ts"));
    symlinkSync(join(outside, "secret.ts"), join(dir, "entry-link.ts"));
    for (const entry of ["entry.ts", "url.ts", "climb.ts"])
      await expect(graph(dir, entry)).rejects.toMatchObject({ code: "cave_tool_sandbox_source_escapes_root" });
    for (const entry of ["entry-link.ts", "folder"])
      await expect(graph(dir, entry)).rejects.toMatchObject({ code: "cave_tool_sandbox_entry_escapes_root" });
  });

  test("is read once while nothing changes, and anew when a file does", async () => {
    const dir = project({ "entry.ts": 'import "./a.ts";', "a.ts": "export const a = 1;" });
    const first = await graphOf(join(dir, "entry.ts"), dir);
    expect(await graphOf(join(dir, "entry.ts"), dir)).toBe(first);
    writeFileSync(join(dir, "a.ts"), "export const a = 22;");
    expect(await graphOf(join(dir, "entry.ts"), dir)).not.toBe(first);
  });

  test("is staged as files of its own and removed whole", async () => {
    const dir = project({ "entry.ts": "export default 1;" });
    const staged = await stage(await graph(dir));
    expect(existsSync(join(staged.dir, "app", staged.entry))).toBe(true);
    await staged.dispose();
    expect(existsSync(staged.dir)).toBe(false);
  });

  test("of an agent directory is that of its tools and its subagents' tools", async () => {
    const dir = project({
      "instructions.md": "Act.",
      "agent.ts": "export default {};",
      "tools/act.ts": "export default 1;",
      "subagents/The Helper/tools/help.ts": "export default 2;",
    });
    const made = (name: string) =>
      tool({ name, description: "x", input: schema.object({}), effect: "read", execute: () => "" });
    const helper = agent({ id: "the-helper", instructions: "Help.", tools: [made("help")] });
    const definition = agent({
      id: "dir",
      instructions: "Act.",
      tools: [made("act"), subagent({ name: "the-helper", description: "x", agent: helper })],
    });
    expect(agentDirectory(join(dir, "agent.ts"))).toBe(dir);
    const { files, entry } = await sourceGraph(directoryEntry(definition, dir), dir, "/nowhere");
    expect(entry).toBe("src/entry.mjs");
    expect(files.map(({ name }) => name).sort()).toEqual([
      "src/entry.mjs",
      "src/subagents/The Helper/tools/help.ts.mjs",
      "src/tools/act.ts.mjs",
    ]);
  });
});

describe("the scanner", () => {
  test.each([
    ['require("a")', ["a"]],
    ["`\u0024{require('b')}` + `require('no')`", ["b"]],
    ["/require('no')/.test(x); require('c')", ["c"]],
    ["x / y / require('d')", ["d"]],
    ["// require('no')\n/* require('no') */ require('e')", ["e"]],
    ["'require(\"no\")'; object.require('no'); module.require('f')", ["f"]],
    ["`a\u0024{`b\u0024{require('g')}`}c`", ["g"]],
  ])("finds what %s loads", (source, expected) => {
    expect(references(source).map(({ literal }) => literal)).toEqual(expected);
  });

  test("gives tokens in order and inside the source, whatever the source", () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom("`", "${", "}", "{", '"', "'", "/", "*", "\\", "\n", "a", " ", "(", "require", "1"),
        }),
        (source) => {
          let at = 0;
          for (const { start, end, text } of tokens(source)) {
            expect(start).toBeGreaterThanOrEqual(at);
            expect(end).toBeGreaterThan(start);
            expect(source.slice(start, end)).toBe(text);
            at = end;
          }
          expect(at).toBeLessThanOrEqual(source.length);
        },
      ),
    );
  });

  test("reads the names of an import", () => {
    expect(importedNames("import a, { b as c, d } from ")).toEqual(["b", "d", "default"]);
    expect(importedNames("export { e as default } from ")).toEqual(["e"]);
    expect(importedNames("import * as all from ")).toEqual([]);
  });
});

describe("frames", () => {
  const frame = (body: string): Buffer => {
    const bytes = Buffer.from(body);
    const head = Buffer.alloc(4);
    head.writeUInt32BE(bytes.length);
    return Buffer.concat([head, bytes]);
  };

  test("come out whole, however the bytes are cut", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string(), { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 1, max: 9 }),
        (texts, size) => {
          const bytes = Buffer.concat(texts.map((text) => frame(JSON.stringify({ key: "k", text }))));
          const reader = new FrameReader("k");
          const read: unknown[] = [];
          for (let at = 0; at < bytes.length; at += size)
            for (const each of reader.read(bytes.subarray(at, at + size))) read.push(each.text);
          expect(read).toEqual(texts);
        },
      ),
    );
  });

  test("of another key, of no JSON, or too long are refused", () => {
    const read = (bytes: Buffer) => () => [...new FrameReader("k").read(bytes)];
    expect(read(frame('{"key":"other"}'))).toThrow(/cave_sandbox_invalid_output/);
    expect(read(frame("null"))).toThrow(/cave_sandbox_invalid_output/);
    expect(read(frame("{"))).toThrow(/cave_sandbox_invalid_output/);
    expect(read(Buffer.from([255, 255, 255, 255]))).toThrow(/cave_sandbox_output_limit/);
  });

  test("carry no prototype, and no functions", () => {
    expect(Object.assign({}, parsed('{"__proto__":{"a":1}}'))).not.toHaveProperty("a");
    expect(Object.assign({}, parsed('{"\\u005f_proto__":{"a":1},"b":[{"__proto__":{"a":1}}]}'))).toEqual({ b: [{}] });
    expect(() => encode({ input: () => 1 })).toThrow(/cave_sandbox_request_invalid/);
    expect(() => encode({ input: "x".repeat(2_000_000) })).toThrow(/cave_sandbox_input_limit/);
  });
});
