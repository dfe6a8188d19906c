import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { isAlarming } from "../../../plugins/compression/alarm.ts";
import { asNumber, Invariants, summaryBudget } from "../../../plugins/compression/invariants.ts";
import { readJson } from "../../../plugins/compression/json-tape.ts";
import { keepNonRedundant } from "../../../plugins/compression/redundancy.ts";
import { relevant } from "../../../plugins/compression/relevant.ts";
import { outliers, rareSigns, seams } from "../../../plugins/compression/statistics.ts";
import { shrink } from "./worlds.ts";

const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const keptOf = (units: readonly string[], first: readonly number[]): number[] | undefined => {
  const kept = new Uint8Array(units.length);
  for (const i of first) kept[i] = 1;
  return keepNonRedundant(units, kept) === undefined ? undefined : [...kept.keys()].filter((i) => kept[i]);
};

describe("redundancy", () => {
  test("a unit whose digits alone differ goes; one with a word of its own among few stays", () => {
    expect(keptOf(["job 1 done", "job 2 done", "job 3 failed", "job 4 done"], [0])).toEqual([0, 2]);
  });
  test("nine of ten words in one kept unit are enough, eight are not", () => {
    const ten = "a1x b2x c d e f g h i j".replaceAll(/[12]/g, "").split(" ");
    const with_ = (other: number): string => [...ten.slice(other), ...times(other, (i) => `new${"xyz"[i]}`)].join(" ");
    expect(keptOf([ten.join(" "), with_(1)], [0])).toEqual([0]);
    expect(keptOf([ten.join(" "), with_(2)], [0])).toEqual([0, 1]);
  });
  test("words that are spread over several kept units stand for nothing", () => {
    expect(keptOf(["alpha beta", "gamma delta", "alpha gamma"], [0, 1])).toEqual([0, 1, 2]);
  });
  test("identifiers count as one word, unless there is nothing else", () => {
    expect(keptOf(["get a3f9c2e1 ok", "get 77b0d4ac ok"], [0])).toEqual([0]);
    expect(keptOf(["a3f9c2e1", "77b0d4ac"], [0])).toEqual([0, 1]);
    expect(keptOf(["12 13", "12 14"], [0])).toEqual([0, 1]);
  });
  test("scripts without spaces are compared by character", () => {
    expect(keptOf(["订单已发货到北京", "订单已发货到上海", "系统崩溃了请立即检查"], [0])).toEqual([0, 1, 2]);
    expect(keptOf(["订单 1 已发货到北京", "订单 2 已发货到北京"], [0])).toEqual([0]);
  });
  test("units that keep saying new things are a document", () => {
    const word = (i: number): string => i.toString(2).replaceAll("0", "a").replaceAll("1", "b");
    expect(
      keptOf(
        times(400, (i) => `${word(i + 512)} ${word(i * 3 + 2_048)}`),
        [0],
      ),
    ).toBeUndefined();
  });
  test("whatever goes has a kept unit with nine tenths of its words", () => {
    const word = fc.constantFrom("red", "green", "blue", "cyan", "pink", "grey");
    fc.assert(
      fc.property(fc.array(fc.array(word, { minLength: 1, maxLength: 6 }), { minLength: 2, maxLength: 60 }), (rows) => {
        const units = rows.map((row) => row.join(" "));
        const kept = keptOf(units, [0]);
        if (!kept) return;
        for (let i = 0; i < units.length; i++) {
          if (kept.includes(i)) continue;
          const words = new Set(rows[i]);
          const best = Math.max(...kept.map((k) => [...words].filter((each) => rows[k]?.includes(each)).length));
          expect(best).toBeGreaterThanOrEqual(words.size * 0.9);
        }
      }),
    );
  });
});

describe("statistics", () => {
  test("a far value is an outlier, the spread of a normal column is not", () => {
    const values = Float64Array.from(times(100, (i) => 100 + (i % 10)));
    expect(outliers(values)).toEqual([]);
    values[42] = 400;
    expect(outliers(values)).toEqual([42]);
  });
  test("where nearly all are equal, what differs stands out", () => {
    const values = new Float64Array(50).fill(200);
    values[7] = 503;
    expect(outliers(values)).toEqual([7]);
  });
  test("a change of level is found where it is; a counter has none", () => {
    expect(seams(Float64Array.from(times(200, (i) => (i < 120 ? 5 : 50) + (i % 3))))).toEqual([120]);
    expect(seams(Float64Array.from(times(200, (i) => i)))).toEqual([]);
  });
  test("two negatives among many are notable, a third of them is not", () => {
    expect(rareSigns(Float64Array.from(times(100, (i) => (i === 3 ? -1 : i))))).toEqual([3]);
    expect(rareSigns(Float64Array.from(times(99, (i) => (i % 3 ? i : -i))))).toEqual([]);
  });
});

describe("invariants", () => {
  const summary = (rows: readonly Record<string, string>[], budget = 160): string => {
    const invariants = new Invariants();
    for (const row of rows) {
      invariants.unit();
      for (const [name, value] of Object.entries(row)) invariants.add(name, value);
    }
    return invariants.summary(budget);
  };
  test("constants, categories with their counts, gapless and open ranges, numbers", () => {
    expect(
      summary(
        times(10, (i) => ({ level: "INFO", state: i < 7 ? "up" : "down", id: `n-${i + 1}`, ms: String(i * 1.5) })),
      ),
    ).toBe("state: up×7 down×3; id: n-1..n-10 all 10 present; all level=INFO; ms=0..13.5");
    expect(summary([{ host: "b" }, { host: "x" }, { host: "c" }])).toBe("host: 3 distinct, b..x");
  });
  test("a missing field is said to be absent", () => {
    expect(summary([{ a: "1" }, { a: "1" }, { a: "2" }, {}])).toBe("a: 1×2 2×1 absent×1");
  });
  test("names that may hold secrets are not spoken of", () => {
    expect(summary(times(4, () => ({ password: "hunter2", api_key: "k", session_id: "s" })))).toBe("");
  });
  test("the summary fits its budget, whatever the fields are", () => {
    fc.assert(
      fc.property(
        fc.array(fc.dictionary(fc.string({ maxLength: 9 }), fc.string({ maxLength: 30 }), { maxKeys: 6 }), {
          minLength: 1,
          maxLength: 30,
        }),
        fc.nat(200),
        (rows, budget) => {
          expect(summary(rows, budget).length).toBeLessThanOrEqual(budget);
        },
      ),
    );
    expect([summaryBudget(10_000), summaryBudget(500), summaryBudget(100)]).toEqual([160, 125, 50]);
  });
  test("only plain decimal numbers are numbers", () => {
    expect(["1", "-2.5", "1e3", "0x10", "1.2.3", "12-3", "", " 1"].map(asNumber)).toEqual([
      1,
      -2.5,
      1_000,
      Number.NaN,
      Number.NaN,
      Number.NaN,
      Number.NaN,
      Number.NaN,
    ]);
  });
});

test("alarming words alarm, counts of nothing and parts of words do not", () => {
  for (const text of [
    "Build FAILED",
    "TypeError: x",
    "java.io.IOException",
    "exit: permission denied",
    "2 errors",
    "oom killed",
    "0 errors, 1 failed",
  ])
    expect([text, isAlarming(text)]).toEqual([text, true]);
  for (const text of [
    "0 errors, 0 warnings",
    "errors=0",
    '"error": null',
    "terrorist",
    "information",
    "failover_ready",
    "mirrors",
  ])
    expect([text, isAlarming(text)]).toEqual([text, false]);
});

test("BM25 ranks the rarer word higher and knows nothing of stop words", () => {
  const units = ["the pool of the server", "connection pool exhausted", "the server", "pool", "another line"];
  expect(relevant(units.length, (i) => units[i], "is the connection pool exhausted?", 2)[0]).toBe(1);
  expect(relevant(units.length, (i) => units[i], "the of is", 5)).toEqual([]);
});

test("the tape reads what JSON.parse reads, and nothing else", () => {
  const parses = (text: string): boolean => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  const almost = fc
    .tuple(fc.json(), fc.nat(), fc.constantFrom("", ",", '"', "}", "]", "\\", "0", "-", "\u0001", "nul", "\ufeff"))
    .map(([text, at, extra]) => {
      const place = at % (text.length + 1);
      return text.slice(0, place) + extra + text.slice(place);
    });
  fc.assert(
    fc.property(fc.oneof(fc.json(), almost, fc.string()), (text) => {
      expect(readJson(text) !== undefined).toBe(parses(text));
    }),
    { numRuns: 1_000 },
  );
});

test("BM25 takes no unit for a word that most of many have", () => {
  const units = times(100, (i) => `{"name": "n${i}", "state": "${i === 40 ? "stale" : "fresh"}"}`);
  expect(relevant(100, (i) => units[i], "which name", 50)).toEqual([]);
  expect(relevant(100, (i) => units[i], "which name is stale", 50)).toEqual([40]);
});

test("BM25 finds a joined name by its parts and whole", () => {
  const units = ["one line", "load(LIMIT_12_48211)", "getUserName()", "another line"];
  for (const query of ["limit 12", "LIMIT_12_48211", "load"])
    expect(relevant(4, (i) => units[i], query, 1)).toEqual([1]);
  for (const query of ["user name", "getUserName"]) expect(relevant(4, (i) => units[i], query, 1)).toEqual([2]);
});

describe("one line among a thousand of another kind stays", () => {
  const at = "2026-11-30T08:00:00Z INFO";
  const long = (i: number, word: string): string =>
    `${at} request ${i} from the gateway in front of service b was ${word}served at node ${i % 4} with status ok`;
  const access = (i: number, status: number): string =>
    `10.0.0.${i % 200} - - [30/Nov/2026:08:00:0${i % 10} +0000] "GET /a/${i} HTTP/1.1" ${status} ${1_000 + (i % 50)}`;
  test.each<[string, (i: number) => string, (i: number) => string, string]>([
    ["one word more in a long line", (i) => long(i, ""), (i) => long(i, "not "), "was not served"],
    ["another sign", (i) => `${at} delta 5 of ${i} applied`, () => `${at} delta -5 of 9 applied`, "delta -5"],
    ["another currency", (i) => `${at} item ${i} costs €100 now`, (i) => `${at} item ${i} costs $100 now`, "$100"],
    [
      "another precision",
      (i) => `${at} item ${i} costs 100 now`,
      (i) => `${at} item ${i} costs 1.00 now`,
      "costs 1.00",
    ],
    [
      "a number without a name far from the rest",
      (i) => `${at} balance of account ${i % 9} is ${100 + (i % 9)}`,
      () => `${at} balance of account 3 is 98765432`,
      "98765432",
    ],
    [
      "a number far from the rest in padded columns",
      (i) => `/dev/disk${i}  1000000   500000   500000  /mnt/${i}`,
      () => "/dev/disk9  1000000   999999        1  /mnt/9",
      "999999",
    ],
    ["an answer that a server could not give", (i) => access(i, 200), (i) => access(i, 503), '" 503 '],
  ])("%s", async (_, usual, other, fact) => {
    const lines = times(1_000, (i) => (i === 567 ? other(i) : usual(i)));
    const { text, report } = await shrink(lines.join("\n"));
    expect(report.reason).toBeUndefined();
    expect(text).toContain(fact);
    expect(text.length).toBeLessThan(2_000);
  });

  test("and one such record, in JSON and in separated values", async () => {
    const note = (i: number): string => long(i, i === 567 ? "not " : "").slice(at.length + 1);
    const rows = times(1_000, (id) => ({ id, note: note(id) }));
    for (const input of [JSON.stringify(rows), `id,note\n${rows.map(({ id, note }) => `${id},${note}`).join("\n")}`]) {
      const { text } = await shrink(input);
      expect(text).toContain("was not served");
      expect(text.length).toBeLessThan(2_000);
    }
  });

  test("server faults are alarming, good answers are not", () => {
    for (const line of ['"GET / HTTP/1.1" 500 12', "status=503 path=/x", '"status": 502', "status code 504"])
      expect(isAlarming(line)).toBe(true);
    for (const line of ['"GET / HTTP/1.1" 200 512', "status=200 ms=503", "took 500 ms", "status=5001", '"x" 500'])
      expect(isAlarming(line)).toBe(false);
  });
});

describe("of a diff only the context of hunks goes", () => {
  const around = (count: number): string => times(count, (i) => ` line ${i} of the file`).join("\n");
  const patch = `diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,60 +1,61 @@\n${around(60)}\n+added\n${around(30)}`;
  test("the words of every commit and the changed files stay", async () => {
    const commit = (issue: number): string =>
      `commit abc${issue}\nAuthor: A <a@b>\n\n    Round invoices\n\n    Totals were cut,\n    so that cents were lost.\n    Closes #${issue}\n---\n src/a.ts | 10 +++++\n src/b.ts | 4 ++--\n src/c.ts | 300 ----\n src/d.ts | 1 +\n\n${patch}`;
    const { text, report } = await shrink(`${commit(4711)}\n\n${commit(4712)}`);
    expect(report).toMatchObject({ contentType: "diff", method: "diff" });
    for (const fact of ["cents were lost", "#4711", "#4712", "src/c.ts | 300", "+added"]) expect(text).toContain(fact);
    expect(text).not.toContain("line 20 of");
  });
});
