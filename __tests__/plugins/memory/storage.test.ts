import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import { createMemoryEngine, sqliteMemoryStorage } from "../../../plugins/memory/index.ts";
import { fileOf } from "../../../plugins/memory/scope.ts";
import { SqliteStorage } from "../../../plugins/memory/sqlite-storage.ts";
import { codeOf, DAY, engineIn, folder, type Hand, rejection, writer } from "./world.ts";

// Real processes, on a machine that may be busy.
jest.setTimeout(60_000);

const SCOPE = { tenant: "_", agentId: "support", namespace: "notes" };

describe("a fact", () => {
  test("is there after a restart, until it expires, and then stays as evidence that is not recalled", async () => {
    using at = folder();
    const hand: Hand = { at: 1_750_000_000_000 };
    const first = engineIn(at.path, { ttlMs: 30 * DAY }, hand);
    const { id } = await first.remember("The archive key hangs behind the door");
    await first.close();
    const second = engineIn(at.path, { ttlMs: 30 * DAY }, hand);
    hand.at += 30 * DAY - 1;
    expect((await second.search("archive key")).hits[0]?.id).toBe(id);
    hand.at += 1;
    expect((await second.search("archive key")).hits).toEqual([]);
    expect(await second.list()).toEqual([]);
    await second.endSession();
    expect(await second.list({ inactive: true })).toMatchObject([{ id, state: "expired" }]);
    expect(await second.recover(id)).toBe("The archive key hangs behind the door");
    await second.close();
    // Said again it is as new, whether it was in the index still or not.
    expect(await second.remember("The archive key hangs behind the door")).toMatchObject({
      id,
      state: "active",
      createdAt: hand.at,
    });
    expect((await second.search("archive key")).hits[0]?.id).toBe(id);
    await second.close();
  });

  test("that has expired can be replaced, in the index still or not", async () => {
    for (const swept of [false, true]) {
      using at = folder();
      const hand: Hand = { at: 1_750_000_000_000 };
      const engine = engineIn(at.path, { ttlMs: DAY }, hand);
      const old = await engine.remember("The tide table hangs in the hall");
      hand.at += DAY;
      if (swept) await engine.endSession();
      const { id } = await engine.supersede(old.id, "The tide table hangs in the kitchen");
      expect((await engine.search("tide table")).hits.map((hit) => hit.id)).toEqual([id]);
      await engine.forget(id);
      expect((await engine.search("tide table")).hits).toEqual([]);
      await engine.close();
    }
  });

  test("said twice is kept once, and lives on from the second time", async () => {
    using at = folder();
    const hand: Hand = { at: 1_750_000_000_000 };
    const engine = engineIn(at.path, { ttlMs: 10 * DAY }, hand);
    const { id } = await engine.remember("  Tea at four  ");
    hand.at += 9 * DAY;
    expect((await engine.remember("Tea at four")).id).toBe(id);
    hand.at += 9 * DAY;
    expect(await engine.list()).toMatchObject([{ id, text: "Tea at four" }]);
    await engine.close();
  });

  test.each(["", "   ", "x".repeat(8_193), "a\0b", "\ud800", 7, null, { text: "x" }])(
    "that is %j is refused",
    async (text) => {
      using at = folder();
      const engine = engineIn(at.path);
      expect(await rejection(engine.remember(text as string))).toBe("cave_memory_value_invalid");
      // Nothing was opened for it.
      expect(existsSync(fileOf(at.path, SCOPE))).toBe(false);
    },
  );

  test("of another agent, namespace or tenant is never seen", async () => {
    using at = folder();
    const make = (tenant: string, agentId: string, namespace: string) =>
      createMemoryEngine({ scope: { tenant, agentId, namespace }, root: at.path });
    const mine = make("t1", "support", "notes");
    await mine.remember("The gate code is on the blue card");
    for (const other of [
      make("t2", "support", "notes"),
      make("t1", "sales", "notes"),
      make("t1", "support", "other"),
    ]) {
      expect((await other.search("gate code blue card")).hits).toEqual([]);
      expect(await other.list({ inactive: true })).toEqual([]);
      await other.close();
    }
    await mine.close();
  });
});

describe("versions", () => {
  test("recall gives the current one, history all of them from the oldest", async () => {
    using at = folder();
    const engine = engineIn(at.path);
    const a = await engine.remember("The deploy key is in the drawer");
    const b = await engine.supersede(a.id, "The deploy key is in the safe");
    const c = await engine.supersede(b.id, "The deploy key is in the vault");
    expect((await engine.search("deploy key")).hits.map(({ id }) => id)).toEqual([c.id]);
    for (const { id } of [a, b, c]) expect((await engine.history(id)).map(({ id }) => id)).toEqual([a.id, b.id, c.id]);
    expect(await rejection(engine.supersede(a.id, "The deploy key is gone"))).toBe("cave_memory_superseded");
    expect(await rejection(engine.supersede("mem_0000000000000000", "x y"))).toBe("cave_memory_unknown");
    await engine.close();
  });

  test("saying the old text again makes a version of its own, not a circle", async () => {
    using at = folder();
    const engine = engineIn(at.path);
    const a = await engine.remember("Lunch is at noon");
    const b = await engine.supersede(a.id, "Lunch is at one");
    const again = await engine.supersede(b.id, "Lunch is at noon");
    expect(new Set([a.id, b.id, again.id]).size).toBe(3);
    expect((await engine.history(a.id)).map(({ text }) => text)).toEqual([
      "Lunch is at noon",
      "Lunch is at one",
      "Lunch is at noon",
    ]);
    await engine.close();
  });

  test("a circle that was made from outside is an error, not an endless walk", async () => {
    using at = folder();
    const engine = engineIn(at.path);
    const a = await engine.remember("First");
    const b = await engine.supersede(a.id, "Second");
    await engine.close();
    {
      using database = new DatabaseSync(fileOf(at.path, SCOPE));
      database.prepare("UPDATE memories SET supersedes = ? WHERE id = ?").run(b.id, a.id);
    }
    expect(await rejection(engine.history(a.id))).toBe("cave_memory_history_cycle");
    await engine.close();
  });

  test("forgetting any of them brings none of the others back", async () => {
    for (const gone of [0, 1, 2]) {
      using at = folder();
      const engine = engineIn(at.path);
      const ids = [(await engine.remember("The code word is alpha")).id];
      for (const word of ["beta", "gamma"])
        ids.push((await engine.supersede(ids.at(-1) ?? "", `The code word is ${word}`)).id);
      expect(await engine.forget(ids[gone] ?? "")).toBe(true);
      expect(await engine.forget(ids[gone] ?? "")).toBe(false);
      const left = ids.filter((_, index) => index !== gone);
      expect((await engine.search("code word")).hits.map(({ id }) => id)).toEqual(gone === 2 ? [] : [ids[2]]);
      expect(await rejection(engine.history(ids[gone] ?? ""))).toBe("cave_memory_unknown");
      expect((await engine.history(left[0] ?? "")).map(({ id }) => id)).toEqual(left);
      await engine.close();
    }
  });

  test("what was forgotten is in no file any more", async () => {
    using at = folder();
    const engine = engineIn(at.path);
    const { id } = await engine.remember("Xylophonist Quetzalcoatl lives in Zanzibar");
    for (let fact = 0; fact < 50; fact++) await engine.remember(`Something else entirely, number ${fact}`);
    await engine.forget(id);
    await engine.close();
    expect(readFileSync(fileOf(at.path, SCOPE)).toString("latin1")).not.toMatch(/quetz|zanzi|xylop/i);
  });
});

test("any sequence of remembering, replacing and forgetting leaves what a plain list would", async () => {
  const word = fc.constantFrom("apple", "brick", "cloud", "drum", "eagle");
  const step = fc.oneof(
    fc.record({ do: fc.constant("remember" as const), word }),
    fc.record({ do: fc.constant("supersede" as const), at: fc.nat(9), word }),
    fc.record({ do: fc.constant("forget" as const), at: fc.nat(9) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const storage = sqliteMemoryStorage(":memory:");
      const engine = createMemoryEngine({ scope: { agentId: "a", namespace: "n" }, storage, ttlMs: null });
      // The oracle: what is active, in the order of the last saying; everything else never comes back.
      const active = new Map<string, string>();
      for (const each of steps) {
        const ids = [...active.keys()];
        if (each.do === "remember") {
          const { id } = await engine.remember(`about the ${each.word}`);
          active.set(id, each.word);
        } else if (ids.length > 0) {
          const id = ids[each.at % ids.length] ?? "";
          if (each.do === "forget") {
            await engine.forget(id);
            active.delete(id);
          } else {
            const record = await engine.supersede(id, `about the ${each.word}`);
            if (record.id !== id) active.delete(id);
            active.set(record.id, each.word);
          }
        }
        expect(new Set((await engine.list()).map(({ id }) => id))).toEqual(new Set(active.keys()));
      }
      for (const said of ["apple", "brick", "cloud", "drum", "eagle"]) {
        const { hits } = await engine.search(said);
        expect(hits.map(({ id }) => id).sort()).toEqual(
          [...active]
            .filter(([, held]) => held === said)
            .map(([id]) => id)
            .sort(),
        );
      }
      for (const record of await engine.list({ inactive: true })) await engine.history(record.id);
      await engine.close();
    }),
    { numRuns: 60 },
  );
});

describe("links", () => {
  test("bring related records along, at most as far as asked, each once, and never an inactive one", async () => {
    using at = folder();
    const engine = engineIn(at.path);
    const texts = [
      "Zebra crossing rules",
      "Painted stripes are renewed in May",
      "The paint comes from Ghent",
      "Ghent closes in August",
      "Unlinked note",
    ];
    const ids: string[] = [];
    for (const text of texts) ids.push((await engine.remember(text)).id);
    const [zebra = "", stripes = "", paint = "", ghent = ""] = ids;
    await engine.link({ from: zebra, relation: "relates_to", to: stripes });
    await engine.link({ from: paint, relation: "derived_from", to: stripes });
    await engine.link({ from: paint, relation: "contradicts", to: ghent });
    await engine.link({ from: stripes, relation: "relates_to", to: zebra });
    const found = async (depth: number): Promise<string[]> =>
      (await engine.search("zebra crossing", { depth })).hits.map(({ id }) => id);
    expect(await found(0)).toEqual([zebra]);
    expect(await found(1)).toEqual([zebra, stripes]);
    expect(await found(2)).toEqual([zebra, stripes, paint]);
    expect(await found(99)).toEqual([zebra, stripes, paint, ghent]);
    expect((await engine.search("zebra crossing")).hits[1]).toMatchObject({
      via: { relation: "relates_to", id: zebra },
    });
    await engine.forget(stripes);
    expect(await found(3)).toEqual([zebra]);
    await engine.close();
  });

  test("of one record with itself, with none, or of an unknown kind are refused", async () => {
    using at = folder();
    const engine = engineIn(at.path);
    const { id } = await engine.remember("A fact");
    const other = (await engine.remember("Another fact")).id;
    for (const link of [
      { from: id, relation: "relates_to", to: id },
      { from: id, relation: "relates_to", to: "mem_none" },
      { from: id, relation: "likes", to: other },
    ])
      expect(await rejection(engine.link(link as Parameters<typeof engine.link>[0]))).toBe("cave_memory_link_invalid");
    await engine.close();
  });
});

test("four processes that write at once lose nothing", async () => {
  using at = folder();
  const names = ["a", "b", "c", "d"];
  const outputs = await Promise.all(names.map((name) => writer(at.path, name, "40")));
  const engine = engineIn(at.path);
  const active = new Map((await engine.list({ limit: 1_000 })).map(({ id, text }) => [id, text]));
  // Of each process's 40 facts the last was replaced: 39 and the final one are active.
  expect(active.size).toBe(4 * 40);
  for (const [index, output] of outputs.entries()) {
    const ids = JSON.parse(output) as string[];
    expect(ids).toHaveLength(41);
    for (const [number, id] of ids.entries()) {
      const text =
        number === 40 ? `Final fact written by ${names[index]}` : `Fact number ${number} written by ${names[index]}`;
      expect(await engine.recover(id)).toBe(text);
      expect(active.get(id)).toBe(number === 39 ? undefined : text);
    }
    expect((await engine.search(`final fact ${names[index]}`, { limit: 4 })).hits.length).toBeGreaterThan(0);
  }
  await engine.close();
});

describe("a file", () => {
  const modes = process.platform === "win32" ? test.skip : test;
  modes("is its owner's alone, and never reached through a link", async () => {
    using at = folder();
    const engine = engineIn(at.path);
    await engine.remember("A fact");
    const file = fileOf(at.path, SCOPE);
    for (const each of [file, `${file}-wal`]) expect(statSync(each).mode & 0o777).toBe(0o600);
    await engine.close();

    const linked = fileOf(at.path, { ...SCOPE, namespace: "linked" });
    symlinkSync(file, linked);
    expect(codeOf(() => new SqliteStorage(linked).add([{ text: "x", at: 1 }]))).toBe("cave_memory_storage_unsafe");
    const second = join(dirname(file), "second.db");
    linkSync(file, second);
    expect(codeOf(() => new SqliteStorage(second).add([{ text: "x", at: 1 }]))).toBe("cave_memory_storage_unsafe");
    mkdirSync(join(at.path, "open"), { mode: 0o777 });
    const open = join(at.path, "open", "m.db");
    writeFileSync(open, "");
    expect(["no error", "cave_memory_storage_unsafe"]).toContain(
      codeOf(() => new SqliteStorage(open).add([{ text: "x", at: 1 }])),
    );
  });

  test("in a place that takes no folders is an error, and no endless wait", () => {
    if (process.platform !== "linux") return;
    const storage = new SqliteStorage("/proc/nowhere/deep/m.db");
    expect(codeOf(() => storage.add([{ text: "x", at: 1 }]))).toBe("cave_memory_storage_unavailable");
  });

  test("that is no database is an error and is left as it is", () => {
    using at = folder();
    const content = Buffer.from("no database at all ".repeat(300));
    writeFileSync(at.db, content, { mode: 0o600 });
    const storage = new SqliteStorage(at.db);
    expect(codeOf(() => storage.add([{ text: "x", at: 1 }]))).toBe("cave_memory_storage_corrupt");
    expect(codeOf(() => storage.search("x", { limit: 1, at: 1 }))).toBe("cave_memory_storage_corrupt");
    expect(readFileSync(at.db).equals(content)).toBe(true);
  });

  test("that is damaged never gives another text than was kept", async () => {
    using at = folder();
    const kept = new SqliteStorage(at.db);
    const texts = Array.from({ length: 60 }, (_, i) => `Fact ${i} about the harbour: ${"detail ".repeat(20)}`);
    await kept.add(texts.map((text) => ({ text, at: 1 })));
    await kept.close();
    const file = readFileSync(at.db);
    for (let page = 1; page * 4_096 < file.length; page += 3) {
      const damaged = join(at.path, `damaged-${page}.db`);
      copyFileSync(at.db, damaged);
      const bytes = Buffer.from(file);
      bytes.fill(0x5a, page * 4_096, page * 4_096 + 64);
      writeFileSync(damaged, bytes, { mode: 0o600 });
      const storage = new SqliteStorage(damaged);
      const code = codeOf(() => {
        for (const { record } of storage.search("harbour detail", { limit: 24, at: 1 }) as readonly {
          record: { text: string };
        }[])
          expect(texts).toContain(record.text);
      });
      expect(["no error", "cave_memory_storage_corrupt", "cave_memory_storage_unavailable"]).toContain(code);
      storage.close();
    }
  });
});

describe("a storage that is made by hand", () => {
  test("waits for its code once, keeps the order of what was said meanwhile, and then answers at once", async () => {
    using at = folder();
    const storage = sqliteMemoryStorage(at.db);
    const first = storage.add([{ text: "The gate code is on the blue card", at: 1 }]);
    const second = storage.list({ limit: 5, inactive: false, at: 1 });
    expect([first, second].every((answer) => answer instanceof Promise)).toBe(true);
    expect(await second).toEqual(await first);
    expect(storage.search("gate code", { limit: 1, at: 1 })).toMatchObject([{ record: { state: "active" } }]);
    await storage.close();
  });

  test("that nobody uses makes no file, also when it is closed", async () => {
    using at = folder();
    await sqliteMemoryStorage(at.db).close();
    const engine = engineIn(at.path);
    await engine.close();
    expect(readdirSync(at.path)).toEqual([]);
  });

  test("in a file that is no database rejects with its code", async () => {
    using at = folder();
    writeFileSync(at.db, "no database at all ".repeat(300), { mode: 0o600 });
    const answer = Promise.resolve(sqliteMemoryStorage(at.db).list({ limit: 1, inactive: false, at: 1 }));
    expect(await rejection(answer)).toBe("cave_memory_storage_corrupt");
  });
});

test("what is said to a new engine in one breath is done in its order, also a close", async () => {
  using at = folder();
  const engine = engineIn(at.path);
  const said = engine.remember("The heron nests by the weir");
  const listed = engine.list();
  const closed = engine.close();
  expect(await listed).toEqual([await said]);
  await closed;
  // Closed after it was written, not before: the last to let go of a file takes its log away.
  expect(existsSync(`${fileOf(at.path, SCOPE)}-wal`)).toBe(false);
});
