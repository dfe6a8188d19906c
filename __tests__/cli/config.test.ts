import { describe, expect, test } from "@jest/globals";
import { defineConfig, loadConfig, resolveConfig } from "../../cli/config.ts";
import { type CavemanError, definePlugin } from "../../kernel/index.ts";
import { folder } from "./caveman.ts";

const refusal = async (work: Promise<unknown>): Promise<CavemanError> => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown as CavemanError,
  );
  if (error === undefined) throw new Error("nothing was refused");
  return error;
};
const names = (plugins: readonly { name: string }[]): string[] => plugins.map((plugin) => plugin.name);
const PLUGIN = `const spec = { name: "night-watch", apply() {} };\nconst make = () => ({ kind: "plugin", name: spec.name, spec, options: {} });\nexport default Object.assign(make, { spec, pluginName: spec.name });\n`;

describe("finding a config", () => {
  test("without a file the defaults apply", async () => {
    await using dir = await folder({ "package.json": "{}" });
    const loaded = await loadConfig({ cwd: dir.path });
    expect(loaded.file).toBeUndefined();
    expect(loaded.preset).toBe("standard");
    expect(names(loaded.plugins)).toContain("providers");
  });

  test.each([
    ["package.json", JSON.stringify({ name: "x", caveman: { preset: "bare" } })],
    ["caveman.config.json", '{ "preset": "bare" }'],
    ["caveman.config.yaml", "preset: bare\n"],
    ["caveman.config.yml", "preset: bare\n"],
    ["caveman.config.mjs", 'export default { preset: "bare" };\n'],
    [
      "caveman.config.ts",
      'import { defineConfig } from "caveman-agent";\nexport default defineConfig({ preset: "bare" as string });\n',
    ],
    ["caveman.config.mts", 'const preset: string = "bare";\nexport default { preset };\n'],
  ])("%s is read", async (name, content) => {
    await using dir = await folder({ [name]: content });
    const loaded = await loadConfig({ cwd: dir.path });
    expect(loaded.preset).toBe("bare");
    expect(loaded.file).toBe(`${dir.path}/${name}`);
  });

  test("it is found from a folder below", async () => {
    await using dir = await folder({
      "package.json": "{}",
      "caveman.config.json": '{ "preset": "bare" }',
      "agents/a/instructions.md": "x",
    });
    expect((await loadConfig({ cwd: `${dir.path}/agents/a` })).preset).toBe("bare");
  });

  test("a named file wins, and one that is missing is refused", async () => {
    await using dir = await folder({
      "caveman.config.json": '{ "preset": "bare" }',
      "other.json": '{ "preset": "fixture" }',
    });
    expect((await loadConfig({ cwd: dir.path, file: "other.json" })).preset).toBe("fixture");
    expect(await refusal(loadConfig({ cwd: dir.path, file: "none.json" }))).toMatchObject({
      code: "cave_config_unreadable",
      detail: { place: `${dir.path}/none.json` },
    });
  });
});

describe("what a config refuses names the file, the path and the nearest name", () => {
  test.each<[what: string, config: object, code: string, place: string, received: string]>([
    ["an unknown key", { presett: "bare" }, "cave_config_invalid", "caveman.config.json", 'did you mean "preset"?'],
    [
      "an unknown preset",
      { preset: "standrad" },
      "cave_config_invalid",
      "caveman.config.json preset",
      'did you mean "standard"?',
    ],
    ["a wrong type", { preset: 3 }, "cave_config_invalid", "caveman.config.json", "preset must be string"],
    ["a wrong list", { plugins: "receipt" }, "cave_config_invalid", "caveman.config.json plugins", "string"],
    ["a wrong entry", { plugins: [42] }, "cave_config_invalid", "caveman.config.json plugins[0]", "number"],
    [
      "a mistyped plugin",
      { plugins: ["receit"] },
      "cave_config_plugin_missing",
      "caveman.config.json plugins[0]",
      'did you mean "receipt"?',
    ],
    [
      "a package that is not there",
      { plugins: ["receipt", ["@acme/audit-trail", {}]] },
      "cave_config_plugin_missing",
      "caveman.config.json plugins[1]",
      '"@acme/audit-trail"',
    ],
    [
      "a mistyped plugin option",
      { plugins: [["receipt", { wirte: true }]] },
      "cave_config_invalid",
      "plugins[0]",
      'did you mean "write"?',
    ],
    [
      "a plugin option of a wrong type",
      { plugins: [["receipt", { write: "yes" }]] },
      "cave_config_invalid",
      "plugins[0]",
      "write must be boolean",
    ],
    [
      "a mistyped run option",
      { run: { printReceit: true } },
      "cave_config_invalid",
      "caveman.config.json run",
      '"printReceit"',
    ],
    [
      "a run option that belongs to one run",
      { run: { signal: 1 } },
      "cave_config_invalid",
      "caveman.config.json run.signal",
      '"signal"',
    ],
    [
      "a model without a provider",
      { model: "haiku" },
      "cave_config_invalid",
      "caveman.config.json",
      "model must match",
    ],
    [
      "options that the preset does not have",
      { presetOptions: { speed: 1 } },
      "cave_config_invalid",
      "presetOptions",
      '"speed"',
    ],
    ["a plugin listed twice", { plugins: ["receipt", "receipt"] }, "cave_config_invalid", "plugins", "receipt"],
  ])("%s", async (_what, config, code, place, received) => {
    await using dir = await folder({ "caveman.config.json": JSON.stringify(config) });
    const error = await refusal(loadConfig({ cwd: dir.path }));
    expect(error.code).toBe(code);
    expect(error.message).toContain(dir.path);
    expect(error.message).toContain(place);
    expect(error.message).toContain(received);
    expect(error.remedy).toBeTruthy();
  });

  test.each([
    ["caveman.config.json", "{ not json"],
    ["caveman.config.yaml", "preset: [bare\n"],
    ["caveman.config.mjs", 'throw new Error("no luck");\n'],
    ["caveman.config.mjs", "export const config = {};\n"],
    ["caveman.config.ts", "export default {{;\n"],
  ])("%s that cannot be read", async (name, content) => {
    await using dir = await folder({ [name]: content });
    const error = await refusal(loadConfig({ cwd: dir.path }));
    expect(error.code).toBe("cave_config_unreadable");
    expect(error.message).toContain(name);
  });

  test("something that is no object", async () => {
    expect((await refusal(resolveConfig([], undefined, "/"))).code).toBe("cave_config_invalid");
    expect((await refusal(resolveConfig(null, undefined, "/"))).code).toBe("cave_config_invalid");
  });
});

describe("plugins of a config", () => {
  test("values, factories, names and names with options are taken; one of the preset's is replaced in its place", async () => {
    const mine = definePlugin({ name: "mine", apply: () => undefined });
    const other = definePlugin({ name: "other", apply: () => undefined });
    const loaded = await resolveConfig(
      defineConfig({ preset: "bare", plugins: [mine, other(), ["receipt", { write: true }]] }),
      undefined,
      "/",
    );
    expect(names(loaded.plugins)).toEqual(["providers", "receipt", "mine", "other"]);
    expect(loaded.plugins[1]?.options).toMatchObject({ write: true });
  });

  test("a package is imported from the config's folder, whatever its exports are written for", async () => {
    await using dir = await folder({
      "node_modules/classic/package.json": '{ "name": "classic", "type": "module", "main": "plugin.js" }',
      "node_modules/classic/plugin.js": PLUGIN.replaceAll("night-watch", "classic"),
      "node_modules/@acme/esm/package.json":
        '{ "name": "@acme/esm", "type": "module", "exports": { ".": { "types": "./x.d.ts", "import": "./plugin.js" } } }',
      "node_modules/@acme/esm/plugin.js": PLUGIN.replaceAll("night-watch", "esm"),
      "local.mjs": PLUGIN,
      "caveman.config.json": '{ "preset": "bare", "plugins": ["classic", "@acme/esm", "./local.mjs"] }',
    });
    expect(names((await loadConfig({ cwd: dir.path })).plugins)).toEqual([
      "providers",
      "receipt",
      "classic",
      "esm",
      "night-watch",
    ]);
  });

  test("a package without a plugin in it, and one that throws, are refused by name", async () => {
    await using dir = await folder({
      "node_modules/empty/package.json": '{ "name": "empty", "type": "module", "main": "index.js" }',
      "node_modules/empty/index.js": "export const x = 1;\n",
      "node_modules/broken/package.json": '{ "name": "broken", "type": "module", "main": "index.js" }',
      "node_modules/broken/index.js": 'throw new Error("broken inside");\n',
    });
    for (const [name, said] of [
      ["empty", "exports no default"],
      ["broken", "broken inside"],
    ] as const) {
      const error = await refusal(resolveConfig({ plugins: [name] }, `${dir.path}/caveman.config.json`, dir.path));
      expect(error.code).toBe("cave_config_plugin_missing");
      expect(error.message).toContain(said);
    }
  });

  test("model is the run option model", async () => {
    expect((await resolveConfig({ model: "sim/x", run: { printReceipt: true } }, undefined, "/")).run).toEqual({
      model: "sim/x",
      printReceipt: true,
    });
  });
});
