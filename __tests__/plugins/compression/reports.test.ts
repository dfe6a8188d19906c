/** Reports: failures stay to the letter, passing tests, repeated frames and checksums are counted. */
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { lockFile } from "../../../plugins/compression/reports/lock-file.ts";
import { stackTrace } from "../../../plugins/compression/reports/stack-trace.ts";
import { testReport } from "../../../plugins/compression/reports/test-report.ts";
import { reports } from "./corpus/reports.ts";
import { counted, shorter, view } from "./parts.ts";

const compressorOf = { "test-report": testReport, "stack-trace": stackTrace, "lock-file": lockFile } as const;
const all = reports().filter(({ compressible }) => compressible);

test.each(all.map((input) => [input.name, input] as const))(
  "%s: the markers count what is gone",
  async (_name, input) => {
    const { text, dropped } = await shorter(compressorOf[input.type as keyof typeof compressorOf], input.text);
    expect(counted(text)).toBe(dropped);
    expect(dropped).toBeGreaterThan(0);
  },
);

interface Runner {
  readonly name: string;
  readonly pass: (name: string) => string;
  readonly fail: (name: string) => string;
}
const runners: readonly Runner[] = [
  { name: "jest", pass: (name) => `    ✓ ${name} (3 ms)`, fail: (name) => `    ✕ ${name} (3 ms)` },
  {
    name: "pytest",
    pass: (name) => `tests/test_a.py::${name} PASSED [ 10%]`,
    fail: (name) => `tests/test_a.py::${name} FAILED [ 10%]`,
  },
  {
    name: "go",
    pass: (name) => `=== RUN   ${name}\n--- PASS: ${name} (0.00s)`,
    fail: (name) => `=== RUN   ${name}\n    a_test.go:4: wrong\n--- FAIL: ${name} (0.00s)`,
  },
  { name: "cargo", pass: (name) => `test a::${name} ... ok`, fail: (name) => `test a::${name} ... FAILED` },
  {
    name: "tap",
    pass: (name) => `ok 1 - ${name}`,
    fail: (name) => `not ok 1 - ${name}\n  ---\n  error: 'wrong'\n  ...`,
  },
  {
    name: "unittest",
    pass: (name) => `${name} (tests.A.${name}) ... ok`,
    fail: (name) => `${name} (tests.A.${name}) ... FAIL`,
  },
  {
    name: "ctest",
    pass: (name) => `  1/10 Test  #1: ${name} .....   Passed    0.01 sec`,
    fail: (name) => `  1/10 Test  #1: ${name} .....***Failed    0.01 sec`,
  },
  {
    name: "gtest",
    pass: (name) => `[ RUN      ] A.${name}\n[       OK ] A.${name} (0 ms)`,
    fail: (name) => `[ RUN      ] A.${name}\na.cc:4: Failure\n[  FAILED  ] A.${name} (0 ms)`,
  },
];
const testName = fc.stringMatching(/^[a-z]{3,8}_[a-z]{3,8}$/);

describe("test output", () => {
  test.each(runners.map((runner) => [runner.name, runner] as const))(
    "of %s: every failing test and everything unknown stays, in order",
    async (_name, runner) => {
      const line = fc.oneof(
        { weight: 8, arbitrary: testName.map((name) => ({ text: runner.pass(name), stays: false })) },
        { weight: 1, arbitrary: testName.map((name) => ({ text: runner.fail(name), stays: true })) },
        {
          weight: 1,
          arbitrary: fc
            .constantFrom("panic: wrong", "  expected 3, got 4", "DeprecationWarning: old", "Tests: 4 failed")
            .map((text) => ({ text, stays: true })),
        },
      );
      await fc.assert(
        fc.asyncProperty(fc.array(line, { minLength: 10, maxLength: 80 }), async (parts) => {
          const found = await view(testReport, `${parts.map(({ text }) => text).join("\n")}\n`);
          if (!found) return;
          let at = 0;
          for (const { text, stays } of parts) {
            if (!stays) continue;
            // Of a failure with a message of its own the message counts; the line that began it may have gone before.
            for (const one of text.split("\n").filter((each) => !/^(?:=== RUN|\[ RUN)/.test(each))) {
              const place = found.text.indexOf(one, at);
              expect({ one, found: place >= at }).toEqual({ one, found: true });
              at = place;
            }
          }
          expect(counted(found.text)).toBe(found.dropped);
        }),
        { numRuns: 40 },
      );
    },
  );

  test("keeps the indentation of what it keeps", async () => {
    const input = reports().find(({ name }) => name === "mocha-indented.txt")?.text ?? "";
    const { text } = await shorter(testReport, input);
    const before = new Set(input.split("\n"));
    for (const line of text.split("\n")) if (!line.includes("elided (caveman)")) expect(before.has(line)).toBe(true);
    expect(text).toContain("      -   'b'\n        ]\n      at Context");
  });

  test("a title above a failure stays, one above passing tests alone does not", async () => {
    const group = (name: string, failing: boolean): string =>
      `  ${name}\n${"    ✓ works well\n".repeat(6)}${failing ? "    ✕ breaks\n" : ""}`;
    const { text } = await shorter(
      testReport,
      `${group("Quays", false)}${group("Tariffs", true)}${group("Ships", false)}`,
    );
    expect(text).toContain("  Tariffs\n");
    expect(text).not.toContain("Quays");
    expect(text).not.toContain("Ships");
  });

  test("a passing test that the query is about stays", async () => {
    const input = Array.from({ length: 50 }, (_, i) => `    ✓ quotes tariff number ${i}`)
      .join("\n")
      .replace("number 31", "of the bishop");
    expect((await shorter(testReport, input, "bishop")).text).toContain("✓ quotes tariff of the bishop");
  });

  test("skipped tests stay", async () => {
    const input = `${"test a::works ... ok\n".repeat(20)}test a::later ... ignored\nok 21 - other # SKIP no broker\n`;
    const { text } = await shorter(testReport, input);
    expect(text).toContain("test a::later ... ignored");
    expect(text).toContain("ok 21 - other # SKIP no broker");
  });
});

describe("JUnit XML", () => {
  const suite = (cases: string): string =>
    `<testsuites><testsuite name="s" failures="1">\n${cases}\n</testsuite></testsuites>`;
  const pass = (i: number): string => `<testcase name="p${i}" time="0.0${i % 9}1"/>`;

  test("keeps failures, errors, skips and the output of a suite that failed", async () => {
    const { text, dropped } = await shorter(
      testReport,
      suite(
        `${Array.from({ length: 30 }, (_, i) => pass(i)).join("\n")}\n<testcase name="f"><failure message="3 is not 4">at A.java:3</failure></testcase>\n<testcase name="e"><error/></testcase>\n<testcase name="s"><skipped message="later"/></testcase>\n<system-out>${"context ".repeat(80)}</system-out>`,
      ),
    );
    for (const part of [
      '<failure message="3 is not 4">at A.java:3</failure>',
      '<testcase name="e"><error/></testcase>',
      '<skipped message="later"/>',
      "context context",
    ])
      expect(text).toContain(part);
    expect(text).toMatch(/<!-- … 30 passing cases elided \(caveman\): [\d.]+ s in all, slowest p8 0.081 s … -->/);
    expect(dropped).toBe(30);
  });

  test("that is cut off passes through", async () => {
    expect(
      await view(
        testReport,
        `<?xml version="1.0"?>\n${suite(Array.from({ length: 30 }, (_, i) => pass(i)).join("\n")).slice(0, -30)}`,
      ),
    ).toBeUndefined();
  });
});

describe("stack traces", () => {
  test("rounds of a recursion are counted, of any length up to a dozen frames", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 3, max: 40 }), async (length, rounds) => {
        const round = Array.from(
          { length },
          (_, i) => `    at step${String.fromCharCode(97 + i)} (/srv/app/walk.js:${i + 1}:7)`,
        ).join("\n");
        const input = `RangeError: Maximum call stack size exceeded\n${Array.from({ length: rounds }, () => round).join("\n")}\n    at main (/srv/app/main.js:3:1)\n`;
        const { text, dropped } = await shorter(stackTrace, input);
        expect(dropped).toBe(length * (rounds - 1));
        expect(text).toContain(`${rounds - 1} times more`);
        expect(text).toContain("    at main (/srv/app/main.js:3:1)");
        expect(text).toContain("Maximum call stack size exceeded");
      }),
      { numRuns: 60 },
    );
  });

  test("frames of the program itself never go, unless they repeat", async () => {
    const own = Array.from(
      { length: 30 },
      (_, i) => `\tat com.acme.shop.Part${String.fromCharCode(65 + (i % 26))}${i > 25 ? "x" : ""}.run(Part.java:${i})`,
    );
    const library = Array.from(
      { length: 30 },
      (_, i) =>
        `\tat org.springframework.web.Filter${String.fromCharCode(65 + (i % 26))}${i > 25 ? "x" : ""}.run(Filter.java:${i})`,
    );
    const { text } = await shorter(
      stackTrace,
      [
        "java.lang.IllegalStateException: no quay",
        ...library,
        ...own,
        ...library,
        "Caused by: java.io.IOException: reset",
        own[3] ?? "",
        "\t... 40 more",
        "",
      ].join("\n"),
    );
    for (const frame of own) expect(text).toContain(frame);
    for (const line of [
      "java.lang.IllegalStateException: no quay",
      "Caused by: java.io.IOException: reset",
      "\t... 40 more",
    ])
      expect(text).toContain(line);
    expect(text).toContain("28 frames elided (caveman): org.springframework ×28");
  });

  test("threads alike are named by the first and the last", async () => {
    const thread = (id: number, at: string): string =>
      `goroutine ${id} [select]:\nexample/pool.${at}(0xc0001)\n\t/srv/pool.go:5 +0x1\nexample/pool.start(0xc0002)\n\t/srv/pool.go:9 +0x2\n`;
    const { text } = await shorter(
      stackTrace,
      [...Array.from({ length: 20 }, (_, i) => thread(10 + i, "wait")), thread(99, "stuck")].join("\n"),
    );
    expect(text).toContain("19 traces like the one above, goroutine 11 [select]: … goroutine 29 [select]:");
    expect(text).toContain("example/pool.stuck");
  });
});

describe("lock files", () => {
  test("every package with its version is there", async () => {
    for (const input of all.filter(({ type }) => type === "lock-file")) {
      const { text, kept } = await shorter(lockFile, input.text);
      expect(text.match(/\S+@\S+/g)?.length).toBeGreaterThanOrEqual(kept);
    }
  });

  test("two versions of one package, and where the second one lies", async () => {
    const entry = (version: string): unknown => ({
      version,
      resolved: `https://packages.example/a-${version}.tgz`,
      integrity: "sha512-x",
    });
    const packages = {
      "": { name: "shop" },
      "node_modules/debug": entry("4.3.4"),
      "node_modules/send/node_modules/debug": entry("2.6.9"),
      "node_modules/ms": entry("2.1.3"),
      "node_modules/send": entry("0.18.0"),
      "packages/own": { version: "1.0.0" },
    };
    const { text } = await shorter(lockFile, JSON.stringify({ lockfileVersion: 3, packages }));
    expect(text).toContain("debug@4.3.4");
    expect(text).toContain("debug@2.6.9 (in send)");
    expect(text).toContain("packages/own@1.0.0");
  });

  test("a package without a checksum, and one from elsewhere", async () => {
    const packages: Record<string, unknown> = {};
    for (let i = 0; i < 12; i++)
      packages[`node_modules/p${i}`] = {
        version: `1.0.${i}`,
        resolved: i === 5 ? "https://elsewhere.example/p5.tgz" : `https://packages.example/p${i}.tgz`,
        ...(i === 7 ? {} : { integrity: "sha512-x" }),
      };
    const { text } = await shorter(lockFile, JSON.stringify({ lockfileVersion: 3, packages }));
    expect(text).toContain("p5@1.0.5: from https://elsewhere.example/p5.tgz");
    expect(text).toContain("p7@1.0.7: no integrity");
  });

  test("what does not read as one passes through", async () => {
    expect(await view(lockFile, '{"lockfileVersion":3}')).toBeUndefined();
    expect(await view(lockFile, "# yarn lockfile v1\n\nnothing here\n")).toBeUndefined();
    await expect(view(lockFile, '{"lockfileVersion":3,')).rejects.toThrow();
  });
});
