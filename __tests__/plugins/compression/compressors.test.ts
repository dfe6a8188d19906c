import { describe, expect, test } from "@jest/globals";
import { payload } from "../../bench/payloads.ts";
import { shrink } from "./worlds.ts";

const times = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const view = async (input: string, options: Parameters<typeof shrink>[1] = {}): Promise<string> =>
  (await shrink(input, { point: false, ...options })).text;
/** Lines shown, and lines that markers count. */
const accounted = (text: string): number =>
  text
    .split("\n")
    .reduce((sum, line) => sum + Number(/^\s*(?:# )?… (\d+) [\p{L} ]+ elided \(caveman\)/u.exec(line)?.[1] ?? 1), 0);

describe("json", () => {
  const users = times(400, (id) => ({
    id,
    name: `User ${String.fromCharCode(97 + (id % 26))}${id}`,
    role: id % 9 ? "member" : "admin",
    ms: id === 250 ? 9_999 : 10 + (id % 7),
    ...(id === 123 ? { error: "quota spent" } : {}),
  }));

  test("edges, the outlier, the error element stay; the marker counts the rest and says what is true of it", async () => {
    const shown = JSON.parse(await view(JSON.stringify({ ok: true, users }, null, 2)));
    expect(shown.ok).toBe(true);
    const ids = shown.users.map((user: { id?: number }) => user.id);
    for (const id of [0, 1, 2, 123, 250, 398, 399]) expect(ids).toContain(id);
    const elided = shown.users.reduce(
      (sum: number, user: Record<string, number>) => sum + (user.__caveman_elided__ ?? 0),
      0,
    );
    expect(elided + ids.filter((id: unknown) => id !== undefined).length).toBe(400);
    expect(JSON.stringify(shown)).toContain("role: member×");
  });
  test("both sides of a change of level stay", async () => {
    const rows = times(300, (t) => ({ t, load: t < 180 ? 20 + (t % 3) : 80 + (t % 3) }));
    const shown = JSON.parse(await view(JSON.stringify(rows)));
    const seen = shown.map((row: { t?: number }) => row.t);
    expect(seen).toEqual(expect.arrayContaining([179, 180]));
    expect(seen.length).toBeLessThan(40);
  });
  test("the one element of its category, and of its shape, stays", async () => {
    const rows = times(200, (id) => ({
      id,
      state: id === 77 ? "quarantined" : id % 2 ? "up" : "idle",
      ...(id === 90 ? { note: 1 } : {}),
    }));
    const ids = JSON.parse(await view(JSON.stringify(rows))).map((row: { id?: number }) => row.id);
    expect(ids).toEqual(expect.arrayContaining([77, 90]));
  });
  test("an object used as a map of records is shortened, an object of settings is not", async () => {
    const map = Object.fromEntries(times(80, (i) => [`host-${i}`, { up: true, load: i % 5, zone: "eu" }]));
    expect(Object.keys(JSON.parse(await view(JSON.stringify(map)))).length).toBeLessThan(20);
    const settings = JSON.stringify(Object.fromEntries(times(80, (i) => [`setting-${i}`, `value ${i * 7}`])));
    expect(await view(settings)).toBe(settings);
  });
  test("subtrees of errors stay whole", async () => {
    const errors = times(40, (i) => ({ line: i, message: "same" }));
    const shown = JSON.parse(await view(JSON.stringify({ users, errors })));
    expect(shown.errors).toEqual(errors);
  });
  test("numbers keep their digits, keys their order and their double", async () => {
    const row = '{"b": 1.0, "a": 12345678901234567890, "a": 1e400, "__proto__": 0}';
    const input = `[\n${times(30, () => row).join(",\n")}\n]`;
    expect(await view(input)).toContain('{"b":1.0,"a":12345678901234567890,"a":1e400,"__proto__":0}');
  });
  test("a list of names is content, not repetition", async () => {
    const names = JSON.stringify(
      times(
        200,
        (i) =>
          `${"abcdefghij"[i % 10]}${"klmnopqrst"[Math.floor(i / 10) % 10]}${"uv"[i % 2]}name${"xyz"[i % 3]}${String.fromCharCode(97 + (i % 26)).repeat(3)}`,
      ),
    );
    expect(await view(names)).toBe(names);
  });
  test("a log inside a string is compressed as a log", async () => {
    const shown = JSON.parse(await view(JSON.stringify({ exit: 1, stdout: payload("log", 20_000) })));
    expect(shown.exit).toBe(1);
    expect(shown.stdout).toContain("elided (caveman)");
    expect(shown.stdout.length).toBeLessThan(3_000);
  });
  test("one value a line stays one value a line", async () => {
    const shown = await view(users.map((user) => JSON.stringify(user)).join("\n"));
    for (const line of shown.split("\n")) expect(() => JSON.parse(line)).not.toThrow();
    expect(shown).toContain('"id":250');
  });
  test("an element that a query asks for stays", async () => {
    expect(await view(JSON.stringify(users), { query: "what about h319?" })).toContain('"id":319');
  });
});

describe("log", () => {
  const line = (i: number): string =>
    `2026-11-30T08:00:${String(i % 60).padStart(2, "0")}Z INFO worker-${i % 4} finished job ${i} took=${i === 300 ? 88_000 : 10 + (i % 9)}ms`;
  test("a slow line among fast ones stays, and every line is accounted for", async () => {
    const shown = await view(times(500, line).join("\n"));
    expect(shown).toContain("took=88000ms");
    expect(accounted(shown)).toBe(500);
  });
  test("the one line of its kind stays", async () => {
    const lines = times(500, line);
    lines[222] = "2026-11-30T08:00:00Z INFO schema migrated from revision seven to revision eight by operator";
    expect(await view(lines.join("\n"))).toContain("schema migrated from revision seven");
  });
  test("one error again and again is counted from the sixty-fifth on; another among them stays", async () => {
    const spam = times(900, (i) => `2026-11-30T08:00:00Z ERROR connection ${i} refused by upstream ${i % 5}`);
    spam[700] = "2026-11-30T08:00:00Z ERROR certificate of upstream 3 has expired";
    const shown = await view(spam.join("\n"));
    expect(shown.split(" refused by upstream").length - 1).toBeGreaterThanOrEqual(64);
    expect(shown.length).toBeLessThan(spam.join("\n").length / 5);
    expect(shown).toContain("certificate of upstream 3 has expired");
    expect(accounted(shown)).toBe(900);
  });
  test("a stack stays under its error once; its repetition is counted", async () => {
    const stack = [
      "2026-11-30T08:00:00Z ERROR handler failed",
      ...times(12, (i) => `    at frame${i} (/srv/app/file.js:${i}:7)`),
    ];
    const shown = await view(
      [...times(50, line), ...stack, ...times(50, line), ...stack, ...times(50, line)].join("\n"),
    );
    expect(shown.split("at frame7 ")).toHaveLength(2);
    expect(shown.split("handler failed")).toHaveLength(3);
  });
  test("lines of names compress by what does not vary, and say so", async () => {
    const random = (i: number): string =>
      `lib${((i * 2_654_435_761) >>> 0).toString(36).replace(/\d/g, "x")}${"abcdefgh"[i % 8]}`;
    const { text, report } = await shrink(
      times(600, (i) => `2026-11-30 08:00:00 status installed ${random(i)}:amd64 ${i}.1`).join("\n"),
    );
    expect(report.method).toBe("log-slots");
    expect(text).toMatch(/after installed: \d+ distinct/);
  });
});

describe("terminal", () => {
  test("sequences go, the last state of a line stays, overwritten states are counted", async () => {
    const shown = await view(
      `\u001b[1mInstall\u001b[0m\n${times(60, (i) => `\u001b[32mget ${i}\u001b[0m`).join("\n")}\n10 %\r50 %\r100 %\ndone\n`,
    );
    expect(shown).not.toContain("\u001b");
    expect(shown).toContain("100 %");
    expect(shown).not.toContain("50 %");
    expect(shown).toContain("… 2 overwritten lines elided (caveman) …");
  });
  test("an error that was drawn over is still there", async () => {
    expect(
      await view(
        `${times(40, (i) => `\u001b[2mstep ${i}\u001b[0m`).join("\n")}\nfetch failed: ECONNRESET\rretrying\rdone\n`,
      ),
    ).toContain("fetch failed: ECONNRESET");
  });
  test("indentation stays", async () => {
    expect(
      await view(
        `\u001b[1mtree\u001b[0m\n    src\n        deep\n${times(60, (i) => `\u001b[2mok ${i}\u001b[0m`).join("\n")}`,
      ),
    ).toContain("\n        deep\n");
  });
});

describe("diff", () => {
  test("every changed line and every header stays; far context is counted", async () => {
    const input = payload("diff", 9_000);
    const shown = await view(input);
    const changed = input.split("\n").filter((line) => /^(?:[-+]|@@|diff)/.test(line));
    for (const line of changed) expect(shown).toContain(line);
    expect(shown).toMatch(/… \d+ context lines elided \(caveman\) …/);
    expect(accounted(shown)).toBe(input.split("\n").length);
  });
});

describe("search results", () => {
  test("hits that differ leave file and line of every one", async () => {
    const word = (i: number): string => (i * 7_919 + 13).toString(36).replace(/\d/g, "q");
    const lines = times(
      300,
      (i) =>
        `src/${"abcdef"[i % 6]}.ts:${i + 1}:  ${word(i)}(${word(i * 3)}, ${word(i * 7)}) ${word(i * 11)}${"+-*/"[i % 4]}${word(i * 13)};`,
    );
    const { text, report } = await shrink(lines.join("\n"));
    expect(report.method).toBe("search-places");
    for (let i = 0; i < 300; i++) expect(text).toMatch(new RegExp(`(?:[:,])${i + 1}(?:[:,; ]|$)`, "m"));
  });
  test("a list of paths is written by folder, and no path is lost", async () => {
    const paths = times(60, (i) => `src/part-${Math.floor(i / 20)}/file-${i}.ts`);
    const { text, report } = await shrink(paths.join("\n"), { point: false });
    expect(report).toMatchObject({ dropped: 0, losslessToModel: true });
    const expanded = text.split("\n").flatMap((line) => {
      const [, head = line, names] = /^(.*)\{(.*)\}$/.exec(line) ?? [];
      return names ? names.split(",").map((name) => head + name) : [head];
    });
    expect(expanded).toEqual(paths);
  });
});

describe("text", () => {
  test("sections that say something new make a document, and a document stays whole", async () => {
    const input = times(300, (i) =>
      `Paragraph about ${(i * 7_919).toString(36)}x${(i * 104_729).toString(36)}y and ${(i * 1_299_709).toString(36)}z things.`.replace(
        /\d/g,
        "k",
      ),
    ).join("\n\n");
    expect(await view(input)).toBe(input);
  });
  test("headings and marked sections stay among repeated ones", async () => {
    const parts = times(120, (i) => `The nightly transfer copied ${i} rows to the second store without a word.`);
    parts[40] = "Second Stage";
    parts[60] = "IMPORTANT: The nightly transfer copied 7 rows to the second store.";
    const shown = await view(parts.join("\n\n"));
    expect(shown).toContain("Second Stage");
    expect(shown).toContain("IMPORTANT: ");
    expect(shown.length).toBeLessThan(1_500);
  });
  test("encoded bytes are cut in the middle, and counted", async () => {
    const blob = Buffer.from(times(3_000, (i) => (i * 97 + (i >> 3)) % 256)).toString("base64");
    const shown = await view(`Attached:\n${blob}\nThat is all.`);
    const cut = Number(/… (\d+) characters elided \(caveman\) …/.exec(shown)?.[1]);
    expect(cut).toBe(blob.length - 64);
    expect(shown).toContain("That is all.");
  });
});

describe("config", () => {
  test("of many services the odd one stays, the rest is a comment, and it is YAML", async () => {
    const services = times(
      40,
      (i) => `  svc-${i}:\n    image: team/app\n    replicas: ${i === 21 ? 900 : 2 + (i % 3)}\n    level: info`,
    );
    const shown = await view(`version: 3\nservices:\n${services.join("\n")}\nvolumes: {}\n`);
    expect(shown).toContain("replicas: 900");
    expect(shown).toContain("volumes: {}");
    expect(shown).toMatch(/^ {2}# … \d+ config lines elided \(caveman\)/m);
    const { parse } = await import("yaml");
    expect(Object.keys(parse(shown).services)).toContain("svc-21");
  });
  test("single settings all stay", async () => {
    const input = `[main]\n${times(60, (i) => `option_${"abcdefghij"[i % 10]}${i} = ${i * 3}`).join("\n")}\n`;
    expect(await view(input)).toBe(input);
  });
});

describe("Markdown", () => {
  test("sections of one form go, their headings stay; the one that warns stays whole", async () => {
    const sections = times(
      30,
      (i) =>
        `### call${i}\n\nChanges the record behind the id and answers with its revision ${i}.${i === 17 ? "\n\nNOTE: this call cannot be undone." : ""}\n`,
    );
    const shown = await view(
      `# Reference\n\nEvery call takes a [key](./key.md) in **a header** of its own.\n\n${sections.join("\n")}`,
    );
    for (let i = 0; i < 30; i++) expect(shown).toContain(`call${i}`);
    expect(shown).toContain("this call cannot be undone");
    expect(shown).toMatch(/… \d+ sections elided \(caveman\)/);
  });
  test("a log in a fence is compressed inside its fence", async () => {
    const shown = await view(
      `# Report\n\nSee **below** and [here](x).\n\n\`\`\`\n${payload("log", 9_000)}\n\`\`\`\n\nThat was it.\n`,
    );
    expect(shown).toMatch(/```\n[\s\S]*elided \(caveman\)[\s\S]*\n```/);
    expect(shown).toContain("That was it.");
  });
});

describe("forced routes", () => {
  const catalog = [
    {
      name: "search",
      description: `Searches the archive of all the letters that were ever written to or from the house. It is a lovely archive with many rooms and a garden. The query must be at least 3 characters. People like it.`,
      input_schema: {
        $schema: "x",
        title: "Search",
        type: "object",
        properties: {
          title: { type: "string", description: "Short.", examples: ["a"], default: "title" },
          kind: { enum: ["a", "b"], deprecated: true },
        },
        required: ["title"],
      },
      cache_control: { type: "ephemeral" },
    },
  ];
  test("toolschema keeps what constrains, and a property called title", async () => {
    const shown = JSON.parse(await view(JSON.stringify(catalog, null, 2), { type: "toolschema" }))[0];
    expect(shown.description).toContain("must be at least 3 characters");
    expect(shown.description).not.toContain("garden");
    expect(shown.input_schema).toEqual({
      type: "object",
      properties: {
        title: { type: "string", description: "Short.", default: "title" },
        kind: { enum: ["a", "b"], deprecated: true },
      },
      required: ["title"],
    });
    expect(shown.cache_control).toEqual({ type: "ephemeral" });
  });
  test("toolschema-annotations cuts four annotations out of schemas and no other byte", async () => {
    const input =
      '{"tools": [ {"title":"T", "inputSchema": {"title" : "S", "type":"object",\n "properties": {"title": {"type": "string", "deprecated": true}, "examples": {"type":"number"}}, "examples": [1]} } ]}';
    expect(await view(input, { type: "toolschema-annotations" })).toBe(
      '{"tools": [ {"title":"T", "inputSchema": {"type":"object",\n "properties": {"title": {"type": "string"}, "examples": {"type":"number"}}} } ]}',
    );
  });
  test("shortening a catalog again changes nothing", async () => {
    for (const type of ["toolschema", "toolschema-annotations"]) {
      const once = await view(JSON.stringify(catalog), { type });
      expect(await view(once, { type })).toBe(once);
    }
  });
  test("toon gives the same value back, or refuses", async () => {
    const { decode } = await import("@toon-format/toon");
    const rows = times(40, (id) => ({ id, name: `n ${id}`, ok: id % 2 === 0 }));
    expect(decode(await view(JSON.stringify(rows), { type: "toon" }))).toEqual(rows);
    for (const refused of ['{"a":1,"a":2}', "[[1,2],[3,4]]", "[1.0,2.0]", "[12345678901234567890]", '[{"a":{"b":1}}]'])
      expect(await view(refused, { type: "toon" })).toBe(refused);
  });
  test("repetition counts identical neighbours", async () => {
    const input = ["start", ...times(100, () => "waiting for the lock to be released"), "end"].join("\n");
    expect(await view(input, { type: "repetition" })).toBe(
      "start\nwaiting for the lock to be released\n… 99 identical lines elided (caveman) …\nend",
    );
  });
  test("a11y shows roles, names, states and handles; with a query the match and its row", async () => {
    const node = (nodeId: string, role: string, name: string, childIds: string[], more: object = {}) => ({
      nodeId,
      role: { value: role },
      name: { value: name },
      childIds,
      backendDOMNodeId: 100 + Number(nodeId),
      ignored: false,
      ...more,
    });
    const rows = times(30, (i) => [
      node(`${10 + i * 3}`, "row", "", [`${11 + i * 3}`, `${12 + i * 3}`]),
      node(`${11 + i * 3}`, "cell", `Order ${"abcdefghij"[i % 10]}${"klm"[i % 3]}`, []),
      node(`${12 + i * 3}`, "button", "Refund", [], { properties: [{ name: "disabled", value: { value: i === 4 } }] }),
    ]).flat();
    const tree = {
      nodes: [
        node("1", "RootWebArea", "Orders", ["2"]),
        node(
          "2",
          "generic",
          "",
          times(30, (i) => `${10 + i * 3}`),
        ),
        ...rows,
      ],
    };
    const shown = await view(JSON.stringify(tree), { type: "a11y" });
    expect(shown.split("\n")[0]).toBe('RootWebArea "Orders" [u2t]');
    expect(shown).toContain('    button "Refund" (disabled)');
    expect(shown).toContain("… 1 nodes elided (caveman) …");
    const asked = await view(JSON.stringify(tree), { type: "a11y", query: "ek" });
    expect(asked).toContain('cell "Order ek"');
    expect(asked.length).toBeLessThan(shown.length / 2);
  });
});

describe("wrappers", () => {
  test("line numbers go back onto their own lines", async () => {
    const lines = payload("log", 9_000).split("\n");
    const shown = await view(lines.map((line, i) => `${String(i + 41).padStart(6)}\t${line}`).join("\n"));
    expect(shown).toContain("elided (caveman)");
    for (const line of shown.split("\n")) {
      const [, number, text] = /^ *(\d+)\t(.*)$/.exec(line) ?? [];
      if (number !== undefined) expect(lines[Number(number) - 41]).toBe(text);
    }
    expect(shown.split("\n").filter((line) => /^ *\d+\t/.test(line)).length).toBeGreaterThan(3);
  });
  test("code keeps the numbers of the lines that stay", async () => {
    const lines = payload("code", 9_000).split("\n");
    const shown = await view(lines.map((line, i) => `${String(i + 1).padStart(6)}\t${line}`).join("\n"));
    expect(shown).toContain("lines elided */ }");
    const numbers = shown.split("\n").flatMap((line) => {
      const [, number, text = ""] = /^ *(\d+)\t(.*)$/.exec(line) ?? [];
      if (number === undefined) return [];
      expect(lines[Number(number) - 1]?.startsWith(text.replace(/ *\{ \/\*.*$/, ""))).toBe(true);
      return [Number(number)];
    });
    expect(numbers.length).toBeGreaterThan(20);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  });
  test("an element around the content stays around the view", async () => {
    const shown = await view(`<file path="app.log">\n${payload("log", 9_000)}\n</file>\n`);
    expect(shown.startsWith('<file path="app.log">\n2026')).toBe(true);
    expect(shown.endsWith("\n</file>\n")).toBe(true);
  });
});
