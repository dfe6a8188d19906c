import { afterEach, describe, expect, test } from "@jest/globals";
import { commands } from "../../../plugins/recovery/commands.ts";
import { OriginalStore } from "../../../plugins/recovery/store.ts";
import { folder } from "./world.ts";

const before = { ...process.env };
afterEach(() => {
  process.env = { ...before };
});

async function retrieve(args: Record<string, unknown>): Promise<{ code: number; out: string; err: string }> {
  let out = "";
  let err = "";
  const code = await commands.retrieve.execute(args, {
    out: (text) => {
      out += text;
    },
    err: (text) => {
      err += text;
    },
  });
  return { code, out, err };
}

describe("caveman retrieve", () => {
  const text = Array.from({ length: 50 }, (_, i) => `line ${i}${i === 9 ? " needle" : ""}`).join("\n");

  function stored(path: string): string {
    process.env.CAVEMAN_CCR_DB = path;
    const store = new OriginalStore({ path });
    const put = store.put(text, { contentType: "log", by: "x" });
    store.close();
    return "handle" in put ? put.handle : "";
  }

  test("writes the original and nothing else to stdout, the report to stderr", async () => {
    using at = folder();
    const handle = stored(at.db);
    const { code, out, err } = await retrieve({ handle });
    expect(code).toBe(0);
    expect(out).toBe(text);
    expect(err).toBe(`${handle}: ${Buffer.byteLength(text)} bytes, log, exact\n`);
  });

  test("with a query writes what matches, and says how much that is", async () => {
    using at = folder();
    const { out, err } = await retrieve({ handle: stored(at.db), query: "needle" });
    expect(out).toContain("line 9 needle");
    expect(out.length).toBeLessThan(text.length / 2);
    expect(err).toContain("1 of 50 units match");
  });

  test("with a query that matches nothing writes the whole original", async () => {
    using at = folder();
    const { out, err } = await retrieve({ handle: stored(at.db), query: "zebra" });
    expect(out).toBe(text);
    expect(err).toContain("no smaller part matches");
  });

  test("of an unknown handle is a coded error", async () => {
    using at = folder();
    stored(at.db);
    await expect(retrieve({ handle: `ccr_${"0".repeat(32)}` })).rejects.toThrow("cave_unknown_handle");
  });
});
