import { describe, expect, test } from "@jest/globals";
import { detect } from "../../../plugins/compression/detect.ts";
import { payload } from "../../bench/payloads.ts";

const times = (count: number, line: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join("\n");

describe("each type by its own signs", () => {
  test.each([
    ["json", '  [{"a": 1}, {"a": 2}]\n'],
    ["json", times(12, (i) => JSON.stringify({ id: i, ok: true }))],
    ["terminal", "\u001b[32m✔\u001b[0m built in 3 s"],
    ["terminal", "10 %\r20 %\r40 %\r100 %\n"],
    ["diff", payload("diff", 3_000)],
    ["html", "<!doctype html><html><body><p>Hi</p></body></html>"],
    ["html", "<div class=a><p>One</p><p>Two</p><ul><li>x</li></ul></div>"],
    ["xml", '<?xml version="1.0"?><orders><order id="1"/></orders>'],
    [
      "test-report",
      '<?xml version="1.0"?><testsuites><testsuite name="a"><testcase name="b"/></testsuite></testsuites>',
    ],
    ["tabular", `id,name,city\n${times(12, (i) => `${i},"Doe, Jo${i}",Graz`)}`],
    ["tabular", `time\tvalue\tunit\n${times(12, (i) => `2026-01-01T00:00:${10 + i}Z\t${i}\tC`)}`],
    ["tabular", `| a | b |\n| --- | --- |\n${times(12, (i) => `| ${i} | x |`)}`],
    ["aligned-table", `NAME      READY   STATUS    AGE\n${times(9, (i) => `pod-${i}     1/1     Running   ${i}d`)}`],
    ["sql-result", ` id | name \n----+------\n${times(9, (i) => `  ${i} | bob`)}\n(9 rows)`],
    ["code", payload("code", 9_000)],
    ["code", "#!/usr/bin/env bash\nset -e\necho hello\n"],
    [
      "stack-trace",
      'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    main()\n  File "a.py", line 9, in main\n    run()\n  File "b.py", line 4, in run\n    raise ValueError("no")\nValueError: no',
    ],
    [
      "test-report",
      `${times(8, (i) => `  ✓ does thing ${i} (3 ms)`)}\n  ✕ does the last\n\nTests: 1 failed, 8 passed, 9 total`,
    ],
    ["lock-file", `{"name":"a","lockfileVersion":3,"packages":{}}`],
    ["lock-file", `# yarn lockfile v1\n\n\n${times(4, (i) => `a${i}@^1.0.0:\n  version "1.0.${i}"`)}`],
    ["log", payload("log", 3_000)],
    ["log", times(8, (i) => `web-1  | 2026-01-01 10:00:0${i} INFO started`)],
    ["search-result", payload("search", 3_000)],
    ["search-result", times(20, (i) => `./src/part-${i}/index.ts`)],
    ["config", payload("yaml", 3_000)],
    ["config", `[server]\n${times(14, (i) => `key_${i} = ${i}`)}`],
    ["markdown", payload("markdown", 3_000)],
    ["text", payload("prose", 3_000)],
    ["text", ""],
    ["text", payload("identifiers", 3_000)],
  ])("%s", (type, input) => {
    expect(detect(input)).toBe(type);
  });
});

describe("what is easily mistaken", () => {
  test("grep output with one comma a line is no table", () => {
    expect(detect(times(40, (i) => `src/view-${i}.ts:${i + 1}:  const [a, b${i}] = useState(0);`))).toBe(
      "search-result",
    );
  });
  test("a README with badges and tags is Markdown, no page", () => {
    const readme =
      '<p align="center">\n  <img src="logo.png">\n</p>\n\n# Tool\n\n[![build](b.svg)](x) [![npm](n.svg)](y)\n\n## Install\n\n```sh\nnpm i tool\n```\n\n- **fast**\n- **small**\n';
    expect(detect(readme)).toBe("markdown");
  });
  test("a lock file and a traceback are no code", () => {
    expect(
      detect(
        times(
          9,
          (i) =>
            `[[package]]\nname = "a${i}"\nversion = "1.0.${i}"\nsource = "registry"\nchecksum = "${"ab".repeat(20)}"\n`,
        ),
      ),
    ).toBe("lock-file");
    expect(
      detect(
        'Exception in thread "main" java.lang.IllegalStateException: no\n\tat a.b.C.run(C.java:12)\n\tat a.b.D.call(D.java:3)\n\tat a.b.Main.main(Main.java:1)\nCaused by: java.io.IOException: gone\n\tat a.b.E.read(E.java:8)\n\t... 3 more',
      ),
    ).toBe("stack-trace");
  });
  test("test output is a report, not prose", () => {
    expect(
      detect(
        `=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n    b_test.go:9: got 2, want 3\n--- FAIL: TestB (0.00s)\nFAIL\nFAIL\texample/b\t0.012s`,
      ),
    ).toBe("test-report");
  });
  test("a log with a stack in it is a log", () => {
    const frames = times(4, (i) => `    at run (/app/src/a.js:${i}:1)`);
    expect(detect(`${payload("log", 2_000)}\n2026-01-01T00:00:00Z ERROR no\n${frames}\n${payload("log", 2_000)}`)).toBe(
      "log",
    );
  });
  test("a line that begins with a bracket, or JSON that is cut off, is no JSON", () => {
    expect(detect("[main] started\n[main] ready\n")).not.toBe("json");
    expect(detect('{"a": [1, 2')).toBe("text");
    expect(detect("{ key: 'single quotes' }")).not.toBe("json");
  });
  test("comments with a hash are no headings", () => {
    expect(detect(`# The server\n# Copyright\n#\n# Edit below\n${times(14, (i) => `option_${i} = ${i}`)}`)).toBe(
      "config",
    );
  });
  test("minutes of a meeting are no configuration", () => {
    expect(
      detect(times(14, (i) => `ANNA: I would say that we keep the second plan for the whole of quarter ${i}.`)),
    ).toBe("text");
  });
  test("line ends of both kinds give the same type", () => {
    for (const name of ["log", "yaml", "search", "code", "diff", "markdown"] as const) {
      const unix = payload(name, 4_000);
      expect(detect(unix.replaceAll("\n", "\r\n"))).toBe(detect(unix));
    }
  });
});

test("a type does not depend on how much of the same follows", () => {
  for (const name of ["log", "code", "prose", "yaml", "terminal", "search", "diff", "markdown"] as const)
    expect(detect(payload(name, 300_000))).toBe(detect(payload(name, 8_000)));
});

test("ten megabytes on one line, and brackets three million deep, are told in a moment", () => {
  const started = performance.now();
  expect(detect("word ".repeat(2_000_000))).toBe("text");
  expect(detect(`${"[".repeat(300_000)}${"]".repeat(300_000)}`)).toBe("json");
  expect(performance.now() - started).toBeLessThan(10_000);
});
