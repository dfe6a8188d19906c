import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { agent, createKernel } from "../../../kernel/index.ts";
import { type CommandHost, commands } from "../../../plugins/compression/commands.ts";
import { compression } from "../../../plugins/compression/index.ts";
import { readStream } from "../../../plugins/compression/input.ts";
import { OriginalStore, recovery } from "../../../plugins/recovery/index.ts";
import { scripted } from "../../../plugins/testing.ts";
import { tokens } from "../../../plugins/tokens/index.ts";

// Real processes, on a machine that may be busy.
jest.setTimeout(60_000);

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "compress-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const LOG = Array.from({ length: 400 }, (_, i) =>
  i === 200
    ? "2026-11-30T08:00:00Z ERROR disk /dev/sda1 is full"
    : `2026-11-30T08:00:00Z INFO worker-${i % 4} finished job ${i} in ${i % 9} ms`,
).join("\n");

const host = (): CommandHost => ({
  open: () =>
    createKernel({ plugins: [tokens(), recovery({ path: join(folder, "ccr.db") }), compression()] }).open(
      agent({ id: "cli", instructions: "None.", model: scripted([]) }),
    ),
});
const write = (name: string, content: string | Uint8Array): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}
async function run(
  name: keyof typeof commands,
  args: Record<string, unknown>,
  given: CommandHost | undefined = host(),
): Promise<Said> {
  const said = { out: "", err: "" };
  const code = await commands[name].execute(
    args,
    { out: (text) => void (said.out += text), err: (text) => void (said.err += text) },
    given,
  );
  return { code, ...said };
}

describe("compress", () => {
  test("writes the view to stdout and the report to stderr; the original comes back after a restart and in another process", async () => {
    const { code, out, err } = await run("compress", { file: write("app.log", LOG), json: true });
    expect(code).toBe(0);
    expect(out).toContain("disk /dev/sda1 is full");
    expect(out.length).toBeLessThan(LOG.length / 4);
    const report = JSON.parse(err);
    expect(report).toMatchObject({
      contentType: "log",
      basis: "inferred",
      counter: "o200k_base",
      losslessToModel: false,
    });
    const path = join(folder, "ccr.db");
    const store = new OriginalStore({ path, maxBytes: 1e9 });
    expect(Buffer.from(store.get(report.recoveryHandle).bytes).toString()).toBe(LOG);
    store.close();
    const script = `import { OriginalStore } from ${JSON.stringify(resolve("plugins/recovery/index.ts"))};
      process.stdout.write(new OriginalStore({ path: process.argv[1], maxBytes: 1e9 }).get(process.argv[2]).bytes);`;
    const other = execFileSync(process.execPath, [
      "--conditions=caveman-source",
      "--input-type=module",
      "-e",
      script,
      path,
      report.recoveryHandle,
    ]);
    expect(other.toString()).toBe(LOG);
  });

  test("a query keeps what it asks for in view", async () => {
    const file = write("app.log", LOG);
    expect((await run("compress", { file })).out).not.toContain("job 123 ");
    expect((await run("compress", { file, query: "job 123" })).out).toContain("job 123 ");
  });

  test("a forced type is obeyed", async () => {
    const rows = JSON.stringify(Array.from({ length: 30 }, (_, id) => ({ id, name: `n${id}` })));
    const { out } = await run("compress", { file: write("rows.json", rows), type: "toon" });
    expect(out).toMatch(/^\[30\]\{id,name\}:/);
  });

  test.each([
    ["a small input", "hello\n", {}],
    ["an empty input", "", {}],
    ["a type nobody knows", LOG, { type: "no-such-type" }],
    ["JSON that is broken", '{"a": [1, 2', { type: "json" }],
  ])("passes %s through with the reason", async (_, content, more) => {
    const { code, out, err } = await run("compress", { file: write("in", content), ...more });
    expect({ code, out }).toEqual({ code: 0, out: content });
    expect(err).toContain("passed through");
  });

  test("passes the input through when the store or the configuration is broken", async () => {
    const broken: CommandHost = { open: () => Promise.reject(new Error("the configuration does not load")) };
    const { code, out, err } = await run("compress", { file: write("app.log", LOG) }, broken);
    expect({ code, out }).toEqual({ code: 0, out: LOG });
    expect(err).toMatch(/^passed through: /);
    expect(err).not.toContain("    at ");
  });

  test("says why the store took nothing, and with --json always in JSON", async () => {
    writeFileSync(join(folder, "ccr.db"), "no database at all".repeat(100), { mode: 0o600 });
    const file = write("app.log", LOG);
    const { code, out, err } = await run("compress", { file });
    expect({ code, out }).toEqual({ code: 0, out: LOG });
    expect(err).toMatch(/^passed through: no_store .*\ncave_recovery_corrupt: /);
    const json = JSON.parse((await run("compress", { file, json: true })).err);
    expect(json).toMatchObject({ reason: "no_store", notices: [expect.stringContaining("cave_recovery_corrupt")] });
    const unknown = await run("compress", { file, json: true, type: "no-such-type" });
    expect(JSON.parse(unknown.err)).toMatchObject({ reason: "unknown_type" });
    const broken: CommandHost = { open: () => Promise.reject(new Error("no")) };
    expect(JSON.parse((await run("compress", { file, json: true }, broken)).err)).toMatchObject({
      reason: "unavailable",
    });
  });

  test("without a store nothing is left out", async () => {
    const said = { out: "" };
    await commands.compress.execute(
      { file: write("app.log", LOG) },
      { out: (text) => void (said.out += text), err: () => undefined },
    );
    expect(said.out).toBe(LOG);
  });

  test("bytes that are no text come out as they went in", async () => {
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, i) => (i * 7 + (i >> 8)) % 256));
    const script = `const { commands } = await import(${JSON.stringify(resolve("plugins/compression/commands.ts"))});
      await commands.compress.execute({}, { out: (text) => process.stdout.write(text), err: (text) => process.stderr.write(text) });`;
    const child = spawn(process.execPath, ["--conditions=caveman-source", "--input-type=module", "-e", script]);
    const chunks: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.stdin.end(bytes);
    await new Promise((done) => child.on("close", done));
    expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
  });
});

test("an input beyond the limit is read no further than the limit, and its rest is still there", async () => {
  const chunk = Buffer.alloc(8 * 1024 * 1024, "a");
  async function* chunks(): AsyncGenerator<Buffer> {
    for (let i = 0; i < 10; i++) yield chunk;
  }
  const { bytes, text, rest } = await readStream(chunks());
  expect(text).toBeUndefined();
  let total = bytes.length;
  expect(total).toBe(9 * chunk.length);
  for await (const more of rest ?? []) total += more.length;
  expect(total).toBe(10 * chunk.length);
});

test("detect names the type", async () => {
  expect((await run("detect", { file: write("app.log", LOG) })).out).toBe("log\n");
  expect(JSON.parse((await run("detect", { file: write("a.json", '{"a":1}'), json: true })).out)).toEqual({
    contentType: "json",
  });
});

test("a file that cannot be read is one coded error", async () => {
  await expect(run("detect", { file: join(folder, "nowhere") })).rejects.toMatchObject({ code: "cave_option_invalid" });
});

test("stats measures files and stores nothing", async () => {
  const files = [write("app.log", LOG), write("note.txt", "hello\n")];
  const { out } = await run("stats", { files, json: true });
  const { files: rows, total } = JSON.parse(out);
  expect(rows.map((row: { contentType: string }) => row.contentType)).toEqual(["log", "text"]);
  expect(rows[1]).toMatchObject({ ratio: 0, reason: "no_view" });
  expect(total.tokensBefore).toBe(rows[0].tokensBefore + rows[1].tokensBefore);
  expect(total.tokensAfter).toBeLessThan(total.tokensBefore / 4);
  const store = new OriginalStore({ path: join(folder, "ccr.db"), maxBytes: 1e9 });
  expect(() => store.get(`ccr_${"0".repeat(32)}`)).toThrow();
  store.close();
});

test("the registry lists every type with what its compressor keeps", async () => {
  const types = JSON.parse((await run("engine", { what: "registry", json: true })).out).map(
    ({ type }: { type: string }) => type,
  );
  expect(types).toEqual(
    expect.arrayContaining([
      "json",
      "log",
      "code",
      "stack-trace",
      "test-report",
      "lock-file",
      "aligned-table",
      "toon",
      "a11y",
    ]),
  );
  await expect(run("engine", { what: "oil" })).rejects.toMatchObject({ code: "cave_option_invalid" });
});
