import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { caveman, folder, here, ROOT } from "./caveman.ts";

interface Listed {
  readonly providers: number;
  readonly models: number;
  readonly rows: readonly { readonly provider: string }[];
}

describe("catalog list", () => {
  test("--json has every row; the counts are those of the rows", async () => {
    const { code, out } = await caveman(["catalog", "list", "--json"]);
    const listed = JSON.parse(out) as Listed;
    expect(code).toBe(0);
    expect(listed.models).toBe(listed.rows.length);
    expect(listed.models).toBeGreaterThanOrEqual(800);
    expect(listed.providers).toBeGreaterThanOrEqual(30);
  });

  test("of one provider, by an alias of it too, is a table in dollars per million tokens", async () => {
    const { code, out } = await here(["catalog", "list", "google"]);
    expect(code).toBe(0);
    expect(out).toMatch(/^model +input +output/);
    expect(out).toMatch(/\d+ models of 1 provider, dollars per million tokens/);
  });

  test("an unknown provider is exit 2", async () => {
    const { code, err } = await here(["catalog", "list", "antropic"]);
    expect([code, err]).toEqual([2, expect.stringContaining('did you mean "anthropic"?')]);
  });
});

describe("catalog show", () => {
  test("prints prices with their tiers, limits, cache, sources and the day they were checked", async () => {
    const { code, out } = await caveman(["catalog", "show", "anthropic/claude-sonnet-4-5"]);
    expect(code).toBe(0);
    // platform.claude.com/docs/en/about-claude/pricing: $3 in, $15 out, $0.30 read, $3.75 and $6 written; twice in above 200k.
    expect(out).toMatch(/standard +3 +15 +0\.3 +3\.75 +6 /);
    expect(out).toMatch(/input over 200,000 +6 +22\.5 +0\.6 +7\.5 +12 /);
    expect(out).toMatch(/context +200,000 tokens/);
    expect(out).toMatch(/cache +explicit, at least 1,024 tokens, kept 300 s/);
    expect(out).toMatch(/verified_at +\d{4}-\d{2}-\d{2}/);
    expect(out).toContain("https://platform.claude.com/docs/en/about-claude/pricing");
  });

  test("takes an alias, and gives the row as JSON", async () => {
    const { out } = await here(["catalog", "show", "anthropic/claude-haiku-4.5", "--json"]);
    expect(JSON.parse(out)).toMatchObject({ provider: "anthropic", model: "claude-haiku-4-5", currency: "USD" });
  });

  test.each([
    ["anthropic/claude-haiku-4-6x", 'The catalog has no model "anthropic/claude-haiku-4-6x"'],
    ["anthropic", "provider/model"],
  ])("%s is exit 2", async (name, said) => {
    const { code, err } = await here(["catalog", "show", name]);
    expect([code, err]).toEqual([2, expect.stringContaining(said)]);
  });
});

describe("catalog validate", () => {
  test("is green for the catalog of this checkout", async () => {
    const { code, out } = await caveman(["catalog", "validate", "--json"]);
    expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ ok: true, problems: [] })]);
  });

  test("is exit 1 with the problems for a damaged copy", async () => {
    await using dir = await folder();
    for (const name of ["current.yaml", "snapshots", "generated.ts"])
      await cp(join(ROOT, "catalog", name), join(dir.path, name), { recursive: true });
    const path = join(dir.path, "current.yaml");
    const yaml = await readFile(path, "utf8");
    await writeFile(path, yaml.replace('"input": "3", "output": "15"', '"input": "4", "output": "15"'));
    const { code, out, err } = await caveman(["catalog", "validate", dir.path]);
    expect(code).toBe(1);
    expect(out).toContain("price_changed");
    expect(out).toContain("module_mismatch");
    expect(err).toMatch(/\d+ problems in /);
  });
});

describe("catalog import", () => {
  test("a LiteLLM price file becomes rows; what has no price is named", async () => {
    await using dir = await folder({
      "prices.json": JSON.stringify({
        "house-1": { litellm_provider: "acme", input_cost_per_token: 1.5e-6, output_cost_per_token: 6e-6 },
        pictures: { litellm_provider: "acme", mode: "image_generation" },
      }),
    });
    const { code, out } = await caveman(["catalog", "import", "prices.json", "--json"], { cwd: dir.path });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      rows: [{ provider: "acme", model: "house-1", prices: [{ rates: { input: "1.5", output: "6" } }] }],
      skipped: [{ model: "pictures", reason: "its mode is image_generation" }],
    });
  });

  test("YAML of one's own becomes a table", async () => {
    await using dir = await folder({
      "rates.yaml": "rows: [{ provider: acme, model: house-1, prices: { input: 1.5, output: 6 } }]\n",
    });
    const { code, out } = await caveman(["catalog", "import", "rates.yaml"], { cwd: dir.path });
    expect([code, out]).toEqual([0, expect.stringMatching(/acme\/house-1 +1\.5 +6/)]);
  });

  test("rates in another currency are imported with a word that they price nothing", async () => {
    await using dir = await folder({
      "rates.yaml": "rows: [{ provider: acme, model: m, currency: EUR, prices: { input: 1, output: 2 } }]\n",
    });
    const { code, err } = await here(["catalog", "import", join(dir.path, "rates.yaml")]);
    expect([code, err]).toEqual([0, "acme/m is billed in EUR: its calls are unpriced, only USD is priced\n"]);
  });

  test.each([
    ["bad.yaml", "rows: [{ provider: acme, model: m, prices: { input: -1 } }]", "rows[0]"],
    [
      "aliases.yaml",
      "providers: [a]\nrows: [{ provider: acme, model: m, prices: { input: 1 } }]",
      "expected a mapping",
    ],
    [
      "open.yaml",
      "rows: [",
      /^cave_cli_usage: open.yaml cannot be imported:\n {2}open.yaml: expected YAML: .+\n {2}→ .+\n$/,
    ],
    ["bad.json", "{", "expected JSON"],
  ])("a damaged %s is exit 2 and says where", async (name, content, said) => {
    await using dir = await folder({ [name]: content });
    const { code, out, err } = await caveman(["catalog", "import", name], { cwd: dir.path });
    expect([code, out, err]).toEqual([
      2,
      "",
      typeof said === "string" ? expect.stringContaining(said) : expect.stringMatching(said),
    ]);
  });

  test("a file that is not there is exit 2", async () => {
    expect((await here(["catalog", "import", "/nowhere/x.yaml"])).code).toBe(2);
    expect((await here(["catalog", "import"])).err).toContain("missing");
  });
});

test("an unknown action is exit 2 with the nearest name", async () => {
  const { code, err } = await here(["catalog", "lst"]);
  expect([code, err]).toEqual([2, expect.stringContaining('did you mean "list"?')]);
});
