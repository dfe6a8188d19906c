import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { Ajv } from "ajv";
import { render } from "../../scripts/generate-config-schema.ts";
import { ROOT } from "./caveman.ts";

const text = await readFile(join(ROOT, "caveman.config.schema.json"), "utf8");
const fits = new Ajv({ strict: false }).compile(JSON.parse(text) as object);

describe("caveman.config.schema.json", () => {
  test("is what the option schemas say today", () => {
    expect(text).toBe(render());
  });

  test.each<[boolean, object]>([
    [true, {}],
    [true, { $schema: "./node_modules/caveman-agent/caveman.config.schema.json", preset: "bare", model: "sim/x" }],
    [true, { plugins: ["receipt", ["receipt", { write: true }], "@acme/audit", ["@acme/audit", { level: 1 }]] }],
    [true, { run: { printReceipt: true, rootDir: "." } }],
    [false, { presett: "bare" }],
    [false, { preset: "none" }],
    [false, { plugins: [["receipt", { wirte: true }]] }],
    [false, { run: { printReceit: true } }],
    [false, { model: "haiku" }],
  ])("%s: %j", (expected, config) => {
    expect(fits(config)).toBe(expected);
  });
});
