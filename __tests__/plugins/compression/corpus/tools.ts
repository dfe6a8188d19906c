/** What else the tools of a developer print. */
import { Chance, CITIES, ENTITIES, lines, moment, PACKAGES, SERVICES, times, VERBS } from "./chance.ts";
import type { CorpusInput } from "./input.ts";

const ESC = "\u001b";

function vitest(): CorpusInput {
  const c = new Chance(151);
  const out = times(
    150,
    (i) =>
      ` ${ESC}[32m✓${ESC}[39m src/${c.of(SERVICES)}/${c.of(ENTITIES).toLowerCase()}-${i}.test.ts ${ESC}[2m(${ESC}[22m${ESC}[2m${c.whole(2, 30)} tests${ESC}[22m${ESC}[2m)${ESC}[22m ${ESC}[33m${c.whole(3, 90)}${ESC}[2mms${ESC}[22m${ESC}[39m`,
  );
  out.splice(
    77,
    0,
    ` ${ESC}[31m❯${ESC}[39m src/pricing/round.test.ts ${ESC}[2m(${ESC}[22m8 tests | ${ESC}[31m1 failed${ESC}[39m)`,
    `   ${ESC}[31m×${ESC}[39m rounds half to even${ESC}[32m 9ms${ESC}[39m`,
    `${ESC}[31m     → expected 12.35 to be 12.34 // Object.is equality${ESC}[39m`,
  );
  out.push(
    "",
    `${ESC}[31m⎯⎯⎯ Failed Tests 1 ⎯⎯⎯${ESC}[39m`,
    `${ESC}[41m FAIL ${ESC}[49m src/pricing/round.test.ts > round > rounds half to even`,
    "AssertionError: expected 12.35 to be 12.34",
    " ❯ src/pricing/round.test.ts:42:17",
    "",
    " Test Files  1 failed | 150 passed (151)",
    "      Tests  1 failed | 2104 passed (2105)",
  );
  return {
    name: "vitest.ansi",
    type: "terminal",
    compressible: true,
    text: lines(out),
    visible: [
      "× rounds half to even",
      "→ expected 12.35 to be 12.34",
      "src/pricing/round.test.ts:42:17",
      "1 failed | 2104 passed (2105)",
    ],
    recoverable: [out[20] as string],
  };
}

function fileList(): CorpusInput {
  const c = new Chance(152);
  const out = times(
    600,
    (i) =>
      `./packages/${c.of(SERVICES)}/src/${c.of(["domain", "http", "store"])}/${c.of(ENTITIES).toLowerCase()}-${c.of(VERBS)}${i}.${c.of(["ts", "ts", "test.ts"])}`,
  );
  out[300] = "./packages/ledger/secrets/production.pem";
  return {
    name: "find.txt",
    type: "search-result",
    compressible: true,
    text: lines(out),
    visible: ["production.pem", "packages"],
    recoverable: [out[100] as string, out[500] as string],
  };
}

function compilerErrors(): CorpusInput {
  const c = new Chance(153);
  const out = times(
    40,
    () =>
      `src/${c.of(SERVICES)}/${c.of(ENTITIES).toLowerCase()}.ts(${c.whole(1, 300)},${c.whole(1, 60)}): error TS${c.of([2322, 2345, 7006, 18048])}: ${c.sentence(6, 12)}`,
  );
  return {
    name: "tsc-errors.txt",
    type: "text",
    compressible: false,
    why: "every line is an error",
    text: lines([...out, "", "Found 40 errors in 21 files."]),
    visible: [out[20] as string, "Found 40 errors in 21 files."],
    recoverable: [],
  };
}

function windowsCsv(): CorpusInput {
  const c = new Chance(154);
  const rows = times(
    240,
    (i) =>
      `${i + 1},${c.of(["Error", "Information", "Information", "Information", "Information"]) === "Error" && i % 60 === 0 ? "Error" : "Information"},${c.of(["Service Control Manager", "Security-SPP", "Kernel-General"])},${7000 + (i % 40)},${moment(i * 60_000).slice(0, 19)}`,
  );
  rows[133] = `134,Error,Disk,${7},"The device, \\Device\\Harddisk1, has a bad block."`;
  return {
    name: "eventlog-crlf.csv",
    type: "tabular",
    compressible: true,
    text: `id,level,source,event,time\r\n${rows.join("\r\n")}\r\n`,
    visible: ['"The device, \\Device\\Harddisk1, has a bad block."', "id,level,source,event,time"],
    recoverable: [rows[60] as string],
  };
}

function openApi(): CorpusInput {
  const c = new Chance(155);
  const paths = times(
    60,
    (i) =>
      `  /${c.of(ENTITIES).toLowerCase()}s${i}/{id}:\n    get:\n      operationId: ${c.of(VERBS)}${c.of(ENTITIES)}${i}\n      tags:\n        - ${c.of(SERVICES)}\n      parameters:\n        - name: id\n          in: path\n          required: true\n          schema:\n            type: string\n      responses:\n        "200":\n          description: The record\n        "404":\n          description: No such record\n`,
  );
  return {
    name: "openapi.yaml",
    type: "config",
    compressible: true,
    text: `openapi: 3.1.0\ninfo:\n  title: Shop\n  version: 2.7.0\npaths:\n${paths.join("")}components:\n  securitySchemes:\n    key:\n      type: apiKey\n      in: header\n      name: X-Shop-Key\n`,
    visible: ["openapi: 3.1.0", "title: Shop", "paths:", "components:"],
    recoverable: [paths[30] as string],
  };
}

function mail(): CorpusInput {
  const c = new Chance(156);
  const row = (inner: string): string =>
    `<tr><td align="left" bgcolor="#${c.hex(6)}" style="padding:${c.whole(0, 30)}px 0 ${c.whole(0, 30)}px 0;font-family:Arial,sans-serif;font-size:${c.whole(10, 18)}px;mso-line-height-rule:exactly"><table role="presentation" border="0" cellpadding="0" cellspacing="0" width="100%"><tr><td width="${c.whole(10, 600)}" style="border-collapse:collapse">${inner}</td></tr></table></td></tr>`;
  const body = [
    row("<h1>Your parcel is late</h1>"),
    ...times(18, (i) => row(`<p>${c.sentence(8, 14)} <a href="https://track.example/${c.hex(24)}">Line ${i}</a></p>`)),
    row("<p>New date: <b>7 May 2026</b>, dock 12.</p>"),
    row("<p>You may refuse it until 18:00.</p>"),
  ];
  return {
    name: "mail-tables.html",
    type: "html",
    compressible: true,
    text: `<!DOCTYPE html><html><head><meta charset="utf-8"><style type="text/css">${times(60, () => `@media only screen and (max-width:${c.whole(300, 700)}px){.${c.hex(6)}{width:100%!important}}`).join("")}</style></head><body><table role="presentation" width="100%"><tbody>${body.join("\n")}</tbody></table></body></html>`,
    visible: [
      "# Your parcel is late",
      "New date: 7 May 2026, dock 12.",
      "You may refuse it until 18:00.",
      "[Line 17](",
    ],
    recoverable: ["mso-line-height-rule"],
  };
}

function narrowDiff(): CorpusInput {
  const c = new Chance(157);
  const out: string[] = [];
  const visible: string[] = [];
  for (let file = 0; file < 4; file++) {
    out.push(
      `diff --git a/config/${file}.json b/config/${file}.json`,
      `index ${c.hex(7)}..${c.hex(7)} 100644`,
      `--- a/config/${file}.json`,
      `+++ b/config/${file}.json`,
      "@@ -1,120 +1,120 @@",
    );
    for (let i = 0; i < 118; i++) {
      if (i === 60) {
        const [was, is] = [`-  "limit_${file}": ${c.whole(1, 9)},`, `+  "limit_${file}": ${c.whole(10, 99)},`];
        out.push(was, is);
        visible.push(was, is);
      } else out.push(`   "${c.of(SERVICES)}_${c.words(1)}_${i}": ${c.whole(1, 900)},`);
    }
  }
  return {
    name: "git-diff-json.diff",
    type: "diff",
    compressible: true,
    text: lines(out),
    visible,
    recoverable: [out[40] as string, out[400] as string],
  };
}

function sockets(): CorpusInput {
  const c = new Chance(158);
  const rows = times(
    160,
    (i) =>
      `tcp    ${i === 99 ? "CLOSE-WAIT" : c.of(["ESTAB", "ESTAB", "TIME-WAIT"])}`.padEnd(18) +
      `${String(i === 40 ? 91244 : 0).padEnd(8)}${"0".padEnd(8)}${`10.0.0.4:${c.of([443, 5432, 6379])}`.padEnd(24)}${c.ip()}:${c.whole(30000, 60000)}`,
  );
  return {
    name: "ss.txt",
    type: "aligned-table",
    compressible: true,
    text: lines(["Netid  State      Recv-Q  Send-Q  Local Address:Port      Peer Address:Port", ...rows]),
    visible: ["CLOSE-WAIT", "91244", "Peer Address:Port"],
    recoverable: [rows[20] as string],
  };
}

function outdated(): CorpusInput {
  const c = new Chance(159);
  const rows = PACKAGES.slice(0, 12).map(
    (name) =>
      `${name.padEnd(22)}${c.whole(1, 4)}.${c.whole(0, 9)}.0    ${c.whole(5, 9)}.0.0    ${c.whole(10, 12)}.0.0  node_modules/${name}`,
  );
  return {
    name: "npm-outdated.txt",
    type: "aligned-table",
    compressible: false,
    why: "small",
    text: lines(["Package               Current  Wanted   Latest  Location", ...rows]),
    visible: [rows[6] as string],
    recoverable: [],
  };
}

function cutTrace(): CorpusInput {
  return {
    name: "python-traceback.txt",
    type: "stack-trace",
    compressible: false,
    why: "small",
    text: lines([
      "Traceback (most recent call last):",
      '  File "/srv/shop/jobs/nightly.py", line 88, in <module>',
      "    main()",
      '  File "/srv/shop/jobs/nightly.py", line 61, in main',
      "    report = build(month)",
      '  File "/srv/shop/jobs/report.py", line 24, in build',
      '    return {row["city"]: row["sum"] for row in rows}',
      "KeyError: 'city'",
    ]),
    visible: ["KeyError: 'city'", "line 24, in build"],
    recoverable: [CITIES[0] === "Lisbon" ? "nightly.py" : ""],
  };
}

export const tools = (): CorpusInput[] => [
  vitest(),
  fileList(),
  compilerErrors(),
  windowsCsv(),
  openApi(),
  mail(),
  narrowDiff(),
  sockets(),
  outdated(),
  cutTrace(),
];
