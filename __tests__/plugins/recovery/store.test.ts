import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import { CavemanError, sha256 } from "../../../kernel/index.ts";
import { textOfOriginal } from "../../../plugins/recovery/original.ts";
import { OriginalStore, type Put } from "../../../plugins/recovery/store.ts";
import { folder, writer, writerOn } from "./world.ts";

// Real processes, on a machine that may be busy.
jest.setTimeout(60_000);

const about = { contentType: "text", by: "test" };
const handleIn = (put: Put): string => {
  if ("handle" in put) return put.handle;
  throw put.problem;
};
const problemIn = (put: Put): string | undefined => ("problem" in put ? put.problem.code : undefined);
const codeOf = (work: () => unknown): string | undefined => {
  try {
    work();
    return undefined;
  } catch (error) {
    return error instanceof CavemanError ? error.code : String(error);
  }
};

describe("an original", () => {
  test("comes back byte for byte, for any bytes, also after a restart", () => {
    using at = folder();
    const store = new OriginalStore({ path: at.db });
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2_000 }), (bytes) => {
        const handle = handleIn(store.put(bytes, about));
        expect(Buffer.from(store.get(handle).bytes).equals(Buffer.from(bytes))).toBe(true);
        const again = new OriginalStore({ path: at.db });
        expect(Buffer.from(again.get(handle).bytes).equals(Buffer.from(bytes))).toBe(true);
      }),
    );
    store.close();
  });

  test("comes back unit for unit, for any text, valid Unicode or not", () => {
    using at = folder();
    const store = new OriginalStore({ path: at.db });
    const any = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.string({ unit: fc.integer({ min: 0xd700, max: 0xe100 }).map((unit) => String.fromCharCode(unit)) }),
      fc.constantFrom("", "\ufeff{}", "a\r\nb", "\0"),
    );
    fc.assert(
      fc.property(any, (text) => {
        const handle = handleIn(store.put(text, about));
        expect(textOfOriginal(store.get(handle), handle)).toBe(text);
      }),
    );
    store.close();
  });

  test("is named by the first sixteen bytes of its SHA-256, and stored once", () => {
    using at = folder();
    const store = new OriginalStore({ path: at.db });
    const handle = handleIn(store.put("the same", about));
    expect(handle).toBe(`ccr_${sha256("the same").slice(0, 32)}`);
    expect(handleIn(store.put("the same", { contentType: "log", by: "other" }))).toBe(handle);
    expect(store.get(handle).contentType).toBe("text");
    store.close();
    using database = new DatabaseSync(at.db);
    expect(database.prepare("SELECT count(*) AS n FROM recoveries").get()).toEqual({ n: 1 });
  });

  test("comes back in another process", async () => {
    using at = folder();
    const bytes = Buffer.from([0, 255, 254, 10, 13, 128]);
    const store = new OriginalStore({ path: at.db });
    const handle = handleIn(store.put(bytes, about));
    // With the first process still holding the store open.
    expect((await writer("get", at.db, handle)).equals(bytes)).toBe(true);
    store.close();
    expect((await writer("get", at.db, handle)).equals(bytes)).toBe(true);
  });
});

test("four processes that write at once lose nothing", async () => {
  using at = folder();
  const names = ["a", "b", "c", "d"];
  const outputs = await Promise.all(names.map((name) => writer("put", at.db, name, "30")));
  const store = new OriginalStore({ path: at.db });
  for (const [index, output] of outputs.entries()) {
    const handles = JSON.parse(output.toString()) as string[];
    expect(handles).toHaveLength(30);
    for (const [number, handle] of handles.entries()) {
      const text =
        number % 3 === 0 ? `shared original ${number}` : `original ${number} of ${names[index]}\n`.repeat(50);
      expect(textOfOriginal(store.get(handle), handle)).toBe(text);
    }
  }
  store.close();
});

describe("a handle", () => {
  test("that nobody stored is an error, never an empty or a near answer", () => {
    using at = folder();
    const store = new OriginalStore({ path: at.db });
    const missing = `ccr_${"0".repeat(32)}`;
    expect(codeOf(() => store.get(missing))).toBe("cave_unknown_handle");
    // Looking something up makes no store.
    expect(existsSync(at.db)).toBe(false);
    const handle = handleIn(store.put("x", about));
    for (const wrong of [missing, "", handle.slice(0, -1), `${handle}0`, handle.toUpperCase(), "ccr_'; DROP TABLE x--"])
      expect(codeOf(() => store.get(wrong))).toBe("cave_unknown_handle");
    store.close();
  });

  test("whose bytes were changed in the file is an error, and storing the original once more repairs it", () => {
    using at = folder();
    const store = new OriginalStore({ path: at.db });
    const handle = handleIn(store.put("right bytes", about));
    store.close();
    const tamper = (sql: string): void => {
      using database = new DatabaseSync(at.db);
      database.exec(sql);
    };
    for (const sql of [
      "UPDATE recoveries SET original = CAST('wrong bytes' AS BLOB)",
      "UPDATE recoveries SET original = 'right bytes'",
      "UPDATE recoveries SET metadata = 'no json'",
      `UPDATE recoveries SET metadata = '{"encoding":"utf-16le"}'`,
      `UPDATE recoveries SET metadata = '{"sha256":"${"0".repeat(64)}","encoding":"utf-8"}'`,
    ]) {
      tamper(sql);
      expect(codeOf(() => store.get(handle))).toBe("cave_recovery_corrupt");
      expect(handleIn(store.put("right bytes", about))).toBe(handle);
      expect(textOfOriginal(store.get(handle), handle)).toBe("right bytes");
      store.close();
    }
  });

  test("of a row another tool wrote, without our metadata, is checked by itself", () => {
    using at = folder();
    const store = new OriginalStore({ path: at.db });
    handleIn(store.put("x", about));
    store.close();
    const handle = `ccr_${sha256("theirs").slice(0, 32)}`;
    {
      using database = new DatabaseSync(at.db);
      const insert = database.prepare(
        "INSERT INTO recoveries (handle, created_at, content_type, compressor, original, metadata) VALUES (?, '', 'json', 'x', ?, ?)",
      );
      insert.run(handle, Buffer.from("theirs"), "{}");
      insert.run(`ccr_${"1".repeat(32)}`, Buffer.from("something else"), "");
    }
    expect(textOfOriginal(store.get(handle), handle)).toBe("theirs");
    expect(codeOf(() => store.get(`ccr_${"1".repeat(32)}`))).toBe("cave_recovery_corrupt");
  });
});

describe("the budget", () => {
  test("once reached takes nothing more, evicts nothing, and says so", () => {
    using at = folder();
    const store = new OriginalStore({ path: at.db, maxBytes: 200_000 });
    const kept: string[] = [];
    let refused: string | undefined;
    for (let at = 0; refused === undefined && at < 100; at++) {
      const put = store.put(`${at}`.padEnd(10_000, "x"), about);
      if ("handle" in put) kept.push(put.handle);
      else refused = put.problem.code;
    }
    expect(refused).toBe("cave_recovery_store_unavailable");
    expect(kept.length).toBeGreaterThan(10);
    for (const [index, handle] of kept.entries())
      expect(textOfOriginal(store.get(handle), handle)).toBe(`${index}`.padEnd(10_000, "x"));
    // What is stored already needs no room.
    expect(handleIn(store.put("0".padEnd(10_000, "x"), about))).toBe(kept[0]);
    store.close();
    expect(statSync(at.db).size).toBeLessThanOrEqual(200_000);
  });

  test("a disk that fills in the middle leaves every stored original whole", async () => {
    using at = folder();
    mkdirSync(join(at.path, "small"), { mode: 0o700 });
    const mounted = join(at.path, "small");
    const ran = await writerOn(
      mounted,
      "mount -t tmpfs -o size=1m,mode=700 tmpfs $AT",
      "fill",
      join(mounted, "ccr.db"),
      "f",
      "500",
    );
    if (ran === undefined) return;
    const { stored, intact, problem } = JSON.parse(ran.out) as { stored: number; intact: number; problem: string };
    expect(problem).toBe("cave_recovery_store_unavailable");
    expect(stored).toBeGreaterThan(5);
    expect(intact).toBe(stored);
  });
});

describe("a store that cannot be used", () => {
  test("because another process holds its lock takes nothing, and gives what it has", () => {
    using at = folder();
    const store = new OriginalStore({ path: at.db, busyMs: 300 });
    const handle = handleIn(store.put("before", about));
    using other = new DatabaseSync(at.db);
    other.exec("BEGIN IMMEDIATE");
    const started = Date.now();
    expect(problemIn(store.put("during", about))).toBe("cave_recovery_store_unavailable");
    expect(Date.now() - started).toBeGreaterThanOrEqual(250);
    expect(textOfOriginal(store.get(handle), handle)).toBe("before");
    other.exec("COMMIT");
    expect(problemIn(store.put("after", about))).toBeUndefined();
    store.close();
  });

  test("because it is on a read-only medium gives what it has", async () => {
    using at = folder();
    const inside = join(at.path, "medium");
    mkdirSync(inside, { mode: 0o700 });
    const path = join(inside, "ccr.db");
    const store = new OriginalStore({ path });
    const handle = handleIn(store.put("kept", about));
    store.close();
    const readOnly = "mount --bind $AT $AT && mount -o remount,bind,ro $AT";
    const got = await writerOn(inside, readOnly, "get", path, handle);
    const filled = await writerOn(inside, readOnly, "fill", path, "f", "1");
    if (got === undefined || filled === undefined) return;
    expect(got.out).toBe("kept");
    expect(JSON.parse(filled.out)).toMatchObject({ stored: 0, problem: "cave_recovery_store_unavailable" });
  });

  test.each([
    ["random bytes", Buffer.from(Array.from({ length: 4_096 }, (_, i) => (i * 7919) % 251))],
    ["text", Buffer.from("no database at all ".repeat(300))],
  ])("because its file is %s is left as it is", (_, content) => {
    using at = folder();
    writeFileSync(at.db, content, { mode: 0o600 });
    const store = new OriginalStore({ path: at.db });
    expect(problemIn(store.put("x", about))).toBe("cave_recovery_corrupt");
    expect(codeOf(() => store.get(`ccr_${"0".repeat(32)}`))).toBe("cave_recovery_corrupt");
    expect(readFileSync(at.db).equals(content)).toBe(true);
  });

  test("because its page was overwritten never gives wrong bytes", () => {
    using at = folder();
    const store = new OriginalStore({ path: at.db });
    const text = "0123456789".repeat(2_000);
    const handle = handleIn(store.put(text, about));
    store.close();
    const file = readFileSync(at.db);
    for (let page = 1; page * 4_096 < file.length; page++) {
      const damaged = Buffer.from(file);
      damaged.fill(0x41, page * 4_096 + 100, page * 4_096 + 200);
      writeFileSync(at.db, damaged, { mode: 0o600 });
      const read = (): string => textOfOriginal(store.get(handle), handle);
      const code = codeOf(read);
      if (code === undefined) expect(read()).toBe(text);
      else expect(["cave_recovery_corrupt", "cave_unknown_handle"]).toContain(code);
    }
  });
});

describe("the file", () => {
  const modes = process.platform === "win32" ? test.skip : test;
  modes("is its owner's alone, with what SQLite puts beside it", () => {
    using at = folder();
    const path = join(at.path, "new", "folder", "ccr.db");
    const store = new OriginalStore({ path });
    handleIn(store.put("x", about));
    for (const each of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(each).mode & 0o777).toBe(0o600);
    expect(statSync(join(at.path, "new")).mode & 0o777).toBe(0o700);
    store.close();
    chmodSync(path, 0o644);
    handleIn(store.put("y", about));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    store.close();
  });

  modes("is never reached through a link, nor in a folder that others can write", () => {
    using at = folder();
    const real = join(at.path, "real.db");
    const store = new OriginalStore({ path: real });
    const handle = handleIn(store.put("x", about));
    store.close();
    symlinkSync(real, at.db);
    const linked = new OriginalStore({ path: at.db });
    expect(problemIn(linked.put("y", about))).toBe("cave_recovery_store_unsafe");
    expect(codeOf(() => linked.get(handle))).toBe("cave_recovery_store_unsafe");

    const second = join(at.path, "second.db");
    linkSync(real, second);
    expect(problemIn(new OriginalStore({ path: second }).put("y", about))).toBe("cave_recovery_store_unsafe");

    const wal = join(at.path, "wal.db");
    symlinkSync(real, `${wal}-wal`);
    expect(problemIn(new OriginalStore({ path: wal }).put("y", about))).toBe("cave_recovery_store_unsafe");

    const open = join(at.path, "open");
    mkdirSync(open);
    chmodSync(open, 0o777);
    expect(problemIn(new OriginalStore({ path: join(open, "ccr.db") }).put("y", about))).toBe(
      "cave_recovery_store_unsafe",
    );

    const notFile = new OriginalStore({ path: open });
    expect(problemIn(notFile.put("y", about))).toBe("cave_recovery_store_unsafe");
  });
});

describe("a store that changes under a run", () => {
  test.each([
    ["removed", (path: string) => rmSync(path)],
    ["moved away", (path: string) => renameSync(path, `${path}.old`)],
    [
      "replaced",
      (path: string) => {
        renameSync(path, `${path}.old`);
        handleIn(new OriginalStore({ path }).put("another store", about));
      },
    ],
  ])("%s: nothing more is taken, and what was taken can still be read", (_, act) => {
    using at = folder();
    const store = new OriginalStore({ path: at.db });
    const handle = handleIn(store.put("before", about));
    act(at.db);
    expect(problemIn(store.put("after", about))).toBe("cave_recovery_store_unavailable");
    expect(textOfOriginal(store.get(handle), "")).toBe("before");
    store.close();
    // Opened again, it is the file that stands there now.
    const after = handleIn(store.put("after", about));
    store.close();
    expect(textOfOriginal(new OriginalStore({ path: at.db }).get(after), "")).toBe("after");
  });

  test("locked for long: one write waits for it, the next ones do not, and when it is free it takes them again", () => {
    using at = folder();
    handleIn(new OriginalStore({ path: at.db }).put("first", about));
    const holder = new DatabaseSync(at.db);
    holder.exec("BEGIN EXCLUSIVE");
    const store = new OriginalStore({ path: at.db, busyMs: 2_000 });
    expect(problemIn(store.put("second", about))).toBe("cave_recovery_store_unavailable");
    const started = performance.now();
    for (let i = 0; i < 8; i++)
      expect(problemIn(store.put(`more ${i}`, about))).toBe("cave_recovery_store_unavailable");
    // Eight waits would take 16 seconds.
    expect(performance.now() - started).toBeLessThan(12_000);
    holder.exec("COMMIT");
    holder.close();
    expect(textOfOriginal(store.get(handleIn(store.put("third", about))), "")).toBe("third");
    store.close();
  });

  test("in a place that takes no folders is a problem, and no endless wait", () => {
    if (process.platform !== "linux") return;
    expect(problemIn(new OriginalStore({ path: "/proc/nowhere/deep/ccr.db" }).put("x", about))).toBe(
      "cave_recovery_store_unavailable",
    );
  });
});
