/** Code: declarations stay to the letter, bodies become markers that are legal code and cannot be taken for it. */
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { bodiesOf } from "../../../plugins/compression/code/bodies.ts";
import { code } from "../../../plugins/compression/code/code.ts";
import { grammarFiles, grammarOf } from "../../../plugins/compression/code/grammars.ts";
import { guessLanguages, type LanguageName, languages } from "../../../plugins/compression/code/languages.ts";
import { sources } from "./corpus/sources.ts";
import { counted, shorter, view } from "./parts.ts";

const LANGUAGE: Readonly<Record<string, LanguageName>> = {
  "shop.ts": "typescript",
  "routes.js": "javascript",
  "panels.tsx": "tsx",
  "ledger.py": "python",
  "service.go": "go",
  "shop.rs": "rust",
  "ShopService.java": "java",
  "table.c": "c",
  "shop.cpp": "cpp",
};
const files = sources().filter(({ compressible }) => compressible);

async function faults(name: LanguageName, source: string): Promise<number> {
  const grammar = await grammarOf(name);
  if (!grammar) throw new Error(`no grammar of ${name}`);
  return bodiesOf(grammar, source)?.faults ?? -1;
}

describe("every language", () => {
  test("has its grammar at hand", async () => {
    for (const name of Object.keys(languages) as LanguageName[]) expect((await grammarOf(name))?.name).toBe(name);
    expect(grammarFiles).toHaveLength(Object.keys(languages).length + 1);
  });

  test.each(files.map((file) => [file.name, file.text] as const))(
    "%s is told from the others and parses again",
    async (name, text) => {
      const language = LANGUAGE[name] as LanguageName;
      expect(guessLanguages(text)[0]).toBe(language);
      const { text: short, method, dropped } = await shorter(code, text);
      expect(method).toBe(language);
      expect(await faults(language, text)).toBe(0);
      expect(await faults(language, short)).toBe(0);
      expect(dropped).toBeGreaterThan(0);
      expect(counted(short)).toBe(dropped);
    },
  );

  test.each(files.map((file) => [file.name, file.text] as const))(
    "%s keeps each line that is not in a body",
    async (_name, text) => {
      const { text: short } = await shorter(code, text);
      const before = new Set(text.split("\n"));
      for (const line of short.split("\n")) {
        if (before.has(line)) continue;
        // What is no line of the source is one with a body's marker in it, and begins like its declaration.
        expect(line).toMatch(/caveman: \d+ lines elided/);
        const head = line.split(/\{ \/\* caveman|\.\.\. {2}# caveman/)[0] ?? "";
        expect(head.trim() === "" || [...before].some((known) => known.startsWith(head))).toBe(true);
      }
    },
  );
});

const SHORT_BODY =
  "    if (value === undefined) return fallback;\n    log(value);\n    return compute(value, fallback);\n";
const method = (name: string): string => `  ${name}(value: string, fallback: number): number {\n${SHORT_BODY}  }\n`;
const klass = (methods: string): string =>
  `import { log } from "./log.ts";\n\nexport interface Options {\n  readonly name: string;\n}\n\nexport class Shop {\n${methods}}\n`;

describe("what stays", () => {
  test("a Python docstring, and an `...` of the source's own", async () => {
    const source = `import os\n\nclass Port:\n    def berth(self, ship: str) -> int: ...\n\n    def tow(self, ship: str) -> int:\n        """Tows a ship.\n\n        Raises LookupError.\n        """\n        tug = self.tugs.pop()\n        if tug is None:\n            raise LookupError(ship)\n        tug.attach(ship)\n        return tug.pull(self.quay)\n\n    def wait(self, ship: str) -> None:\n        queue = self.queues[ship]\n        queue.append(ship)\n        queue.sort(key=lambda one: one.arrival)\n        self.log("waits", ship)\n`;
    const { text } = await shorter(code, source);
    expect(text).toContain("def berth(self, ship: str) -> int: ...\n");
    expect(text).toContain(
      '"""Tows a ship.\n\n        Raises LookupError.\n        """\n        ...  # caveman: 5 lines elided',
    );
    expect(text).toContain("def wait(self, ship: str) -> None:\n        ...  # caveman: 4 lines elided");
    expect(text).not.toContain("tug.attach");
  });

  test("the names of tests: a callback that holds further bodies is entered", async () => {
    const each = (name: string): string =>
      `  it("${name}", async () => {\n    const shop = await open("${name}");\n    await shop.close();\n    expect(shop.closed).toBe(true);\n    expect(shop.name).toBe("${name}");\n  });\n`;
    const { text } = await shorter(
      code,
      `import { expect, it } from "runner";\n\ndescribe("the shop", () => {\n${each("opens")}${each("closes")}});\n`,
    );
    expect(text).toContain('it("opens", async () => { /* caveman: 4 lines elided */ });');
    expect(text).toContain('it("closes", async () => { /* caveman: 4 lines elided */ });');
  });

  test("a body that the query is about", async () => {
    const source = klass(
      method("price") + method("reserve").replace("log(value)", "warehouse.holdPallets(value)") + method("refund"),
    );
    const { text } = await shorter(code, source, "holdPallets");
    expect(text).toContain("warehouse.holdPallets(value);");
    expect(text.match(/caveman: 3 lines elided/g)).toHaveLength(2);
  });

  test("a body with a fault in it, though the file has only that one", async () => {
    const source = klass(
      method("price") +
        method("broken").replace("log(value);", "log(value));") +
        Array.from({ length: 30 }, (_, i) => method(`more${i}`)).join(""),
    );
    const found = await view(code, source);
    if (found) expect(found.text).toContain("log(value));");
  });
});

describe("what passes through", () => {
  test("text in no language, sources that do not parse, declarations alone, sources beyond half a megabyte", async () => {
    expect(await view(code, "Once upon a time a ship came in.\n".repeat(40))).toBeUndefined();
    for (const { text, compressible } of sources()) if (!compressible) expect(await view(code, text)).toBeUndefined();
    expect(await view(code, klass(method("price").repeat(8_000)))).toBeUndefined();
  });

  test("any source that is cut anywhere: shorter without a new fault, or not at all", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...files),
        fc.double({ min: 0.1, max: 1, noNaN: true }),
        fc.double({ min: 0, max: 0.5, noNaN: true }),
        async ({ name, text }, to, from) => {
          const cut = text.slice(Math.floor(text.length * from * to), Math.floor(text.length * to));
          const found = await view(code, cut);
          if (!found) return;
          const language = found.method as LanguageName;
          expect(language in languages).toBe(true);
          expect(LANGUAGE[name]).toBeDefined();
          expect(await faults(language, found.text)).toBeLessThanOrEqual(await faults(language, cut));
        },
      ),
      { numRuns: 40 },
    );
  });
});

test("200 kB of TypeScript take no more than a moment", async () => {
  const source = klass(Array.from({ length: 1_300 }, (_, i) => method(`method${i}`)).join(""));
  expect(source.length).toBeGreaterThan(200_000);
  const { dropped } = await shorter(code, source);
  expect(dropped).toBe(3 * 1_300);
});
