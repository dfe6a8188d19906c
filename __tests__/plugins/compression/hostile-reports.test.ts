/** Inputs made to be slow: none of the compressors looks twice at what it has read. */
import { expect, test } from "@jest/globals";
import { code } from "../../../plugins/compression/code/code.ts";
import { lockFile } from "../../../plugins/compression/reports/lock-file.ts";
import { stackTrace } from "../../../plugins/compression/reports/stack-trace.ts";
import { testReport } from "../../../plugins/compression/reports/test-report.ts";
import { alignedTable } from "../../../plugins/compression/tables/aligned.ts";
import { sqlResult } from "../../../plugins/compression/tables/sql.ts";
import { tabular } from "../../../plugins/compression/tables/tabular.ts";
import { view } from "./parts.ts";

const compressors = [code, lockFile, stackTrace, testReport, alignedTable, sqlResult, tabular];
const LENGTH = 100_000;
const fill = (unit: string): string => unit.repeat(Math.ceil(LENGTH / unit.length));

test.each([
  ["spaces", `${fill(" ")}x`],
  ["empty lines", `${fill("\n")}x`],
  ["lines of one space", fill(" \n")],
  ["colons", fill(":")],
  ["bars", `| a | b |\n|---|---|\n${fill("| ")}`],
  ["rules", `a | b\n${fill("-+")} x\n`],
  ["spaces and a rule", `a\n${" ".repeat(LENGTH)}-x\n`],
  ["a record of spaces", `-[ RECORD 1 ]\n${fill(" ")}x\n`],
  ["quotes", `a,b\n${fill('"')}`],
  ["frames of nothing", fill("    at x (y:1:1)\n")],
  [
    "recursions of every length",
    Array.from({ length: 4_000 }, (_, i) => `    at f${i % ((i >> 6) + 2)} (a.js:1:1)`).join("\n"),
  ],
  ["a file line without an end", `  File "${fill("a")}`],
  ["passing lines", fill("✓ a\n")],
  ["double colons", fill("a::b ")],
  ["titles of titles", Array.from({ length: 2_000 }, (_, i) => `${" ".repeat(i % 90)}a`).join("\n")],
  ["TAP without an end", fill("ok 1 - a\n  ---\n")],
  ["go starts", fill("=== RUN   TestA\n    a_test.go:1: x\n")],
  ["a lock file of one field", `[[package]]\nname = "a"\nversion = "${fill(" ")}`],
  ["sources without an end", `[[package]]\nname = "a"\nversion = "1"\nsource = ""\n${fill("[package.source]\n")}`],
  ["yarn of colons", `# yarn lockfile v1\n${fill("a:\n")}`],
  ["pnpm without packages", `lockfileVersion: '9.0'\n${fill("packages\n")}`],
  ["Java of spaces", `package a;\nimport b.c;\npublic ${fill(" ")}x`],
  ["TSX of openings", `import { a } from "b";\nexport interface A {}\n${fill("<A ")}`],
  ["braces", `package main\nfunc a() ${fill("{")}`],
  ["brackets", `def a():\n    ${fill("[")}`],
])(
  "%s",
  async (_name, input) => {
    for (const compressor of compressors) {
      const found = await view(compressor, input).catch(() => undefined);
      if (found) expect(found.text.length).toBeLessThan(input.length * 1.1);
    }
  },
  10_000,
);
