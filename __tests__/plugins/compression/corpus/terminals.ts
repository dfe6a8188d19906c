/** What terminals show: colours, progress, diffs, search results. */
import { Chance, CITIES, ENTITIES, lines, moment, PACKAGES, SERVICES, times, VERBS } from "./chance.ts";
import type { CorpusInput } from "./input.ts";

const ESC = "\u001b";
const paint = (code: number, text: string): string => `${ESC}[${code}m${text}${ESC}[0m`;

function install(): CorpusInput {
  const c = new Chance(41);
  const spin = times(
    90,
    (i) =>
      `\r${ESC}[K${"⠋⠙⠹⠸⠼⠴"[i % 6]} idealTree:${c.of(PACKAGES)}: ${paint(32, "timing")} idealTree:node_modules/${c.of(PACKAGES)} Completed in ${c.whole(1, 40)}ms`,
  ).join("");
  const fetched = times(
    140,
    () =>
      `${paint(36, "npm")} ${paint(32, "http")} ${paint(35, "fetch")} GET 200 https://packages.example/${c.of(PACKAGES)} ${c.whole(20, 400)}ms (cache ${c.of(["miss", "hit", "revalidated"])})`,
  );
  const text = lines([
    spin,
    ...fetched,
    `${paint(33, "npm warn")} deprecated glob@7.2.3: Glob versions prior to v9 are no longer supported`,
    `${paint(31, "npm error")} code ERESOLVE`,
    `${paint(31, "npm error")} While resolving: shop-web@3.2.0`,
    `${paint(31, "npm error")} Could not resolve dependency: peer react@"^18" from @acme/widgets@4.1.0`,
    "",
    "added 611 packages, and audited 742 packages in 19s",
  ]);
  return {
    name: "npm-install.ansi",
    type: "terminal",
    compressible: true,
    text,
    visible: ["ERESOLVE", 'peer react@"^18" from @acme/widgets@4.1.0', "glob@7.2.3", "added 611 packages"],
    recoverable: [fetched[70] as string],
  };
}

function image(): CorpusInput {
  const c = new Chance(42);
  const out = [`${ESC}[1A${ESC}[2K#1 [internal] load build definition from Dockerfile`];
  for (let i = 0; i < 260; i++)
    out.push(
      `${ESC}[34m#${7 + (i % 4)}${ESC}[0m sha256:${c.hex(64)} ${c.whole(1, 40)}.${c.whole(10, 99)}MB / 40.12MB ${(i / 10).toFixed(1)}s`,
    );
  for (let i = 0; i < 150; i++)
    out.push(
      `#12 ${(3 + i / 8).toFixed(3)} Get:${i + 1} http://deb.example/debian bookworm/main amd64 lib${c.of(SERVICES)}${c.whole(1, 9)} amd64 ${c.whole(1, 9)}.${c.whole(0, 20)}-${c.whole(1, 4)} [${c.whole(10, 900)} kB]`,
    );
  out.push(
    `${ESC}[31m#14 ERROR: process "/bin/sh -c npm run build" did not complete successfully: exit code: 2${ESC}[0m`,
    "------",
    " > [build 6/7] RUN npm run build:",
    "14.22 src/cart/total.ts(41,9): error TS2322: Type 'string' is not assignable to type 'Money'.",
    "------",
    "Dockerfile:23",
  );
  return {
    name: "docker-build.ansi",
    type: "terminal",
    compressible: true,
    text: lines(out),
    visible: ["exit code: 2", "error TS2322: Type 'string' is not assignable to type 'Money'", "Dockerfile:23"],
    recoverable: [out[200]?.slice(12, 60) as string],
  };
}

function download(): CorpusInput {
  const c = new Chance(43);
  const parts = times(24, (k) => {
    const name = `${PACKAGES[k * 3]}-${c.whole(1, 9)}.${c.whole(0, 9)}.0-py3-none-any.whl`;
    return `Collecting ${PACKAGES[k * 3]}\n  Downloading ${name} (${c.whole(1, 9)}.4 MB)\n${times(40, (i) => `\r     ${ESC}[38;5;197m${"━".repeat(i)}${ESC}[0m${"╸".repeat(40 - i)} ${(i / 10).toFixed(1)}/4.0 MB ${c.whole(2, 20)}.1 MB/s eta 0:00:0${c.whole(0, 9)}`).join("")}\r     ${"━".repeat(40)} 4.0/4.0 MB 11.2 MB/s eta 0:00:00\n`;
  });
  const end =
    "ERROR: pip's dependency resolver does not currently take into account all the packages that are installed.\nledger-client 2.4.1 requires protobuf<5, but you have protobuf 5.29.3 which is incompatible.\nSuccessfully installed 24 packages\n";
  return {
    name: "pip-progress.ansi",
    type: "terminal",
    compressible: true,
    text: parts.join("") + end,
    visible: ["ledger-client 2.4.1 requires protobuf<5", "Successfully installed 24 packages"],
    recoverable: [`Collecting ${PACKAGES[30]}`],
  };
}

function compiler(): CorpusInput {
  const c = new Chance(44);
  const out: string[] = [];
  for (let i = 0; i < 230; i++)
    out.push(`${paint(32, "   Compiling")} ${c.of(PACKAGES)} v${c.whole(0, 4)}.${c.whole(0, 30)}.${c.whole(0, 9)}`);
  out.push(
    `${paint(33, "warning")}: unused variable: \`carrier\``,
    `  ${paint(34, "-->")} src/quote.rs:118:9`,
    `${paint(34, "    |")}`,
    `${paint(34, "118 |")}     let carrier = pick(&rates);`,
    `${paint(34, "    |")}         ^^^^^^^ help: if this is intentional, prefix it with an underscore`,
  );
  for (let i = 0; i < 80; i++)
    out.push(`${paint(32, "   Compiling")} ${c.of(PACKAGES)} v${c.whole(0, 4)}.${c.whole(0, 30)}.${c.whole(0, 9)}`);
  out.push(
    `${paint(31, "error[E0382]")}: borrow of moved value: \`basket\``,
    `  ${paint(34, "-->")} src/cart.rs:77:20`,
    `${paint(31, "error")}: could not compile \`shop\` (bin "shop") due to 1 previous error; 1 warning emitted`,
  );
  return {
    name: "cargo-build.ansi",
    type: "terminal",
    compressible: true,
    text: lines(out),
    visible: [
      "unused variable: `carrier`",
      "src/quote.rs:118:9",
      "borrow of moved value: `basket`",
      "src/cart.rs:77:20",
      "could not compile `shop`",
    ],
    recoverable: [out[100] as string],
  };
}

function wideDiff(): CorpusInput {
  const c = new Chance(45);
  const out: string[] = [];
  const visible: string[] = [];
  for (let file = 0; file < 6; file++) {
    const path = `src/${c.of(SERVICES)}/${c.of(ENTITIES).toLowerCase()}-${file}.ts`;
    out.push(
      `diff --git a/${path} b/${path}`,
      `index ${c.hex(10)}..${c.hex(10)} 100644`,
      `--- a/${path}`,
      `+++ b/${path}`,
      `@@ -1,90 +1,91 @@`,
    );
    const context = (count: number): void =>
      void out.push(
        ...times(
          count,
          () =>
            ` ${"  ".repeat(c.whole(0, 3))}${c.of(["const", "return", "if", "await", "export"])} ${c.words(1)}${c.of(["()", " = await load", ".map", " === undefined"])}(${c.words(2).replace(" ", ", ")});`,
        ),
      );
    context(44);
    const change = `${c.words(1)}${file}Limit`;
    out.push(
      `-    const ${change} = ${c.whole(1, 9)};`,
      `+    const ${change} = ${c.whole(10, 90)};`,
      `+    audit("${change}");`,
    );
    visible.push(`+    audit("${change}");`, path);
    context(45);
  }
  return {
    name: "git-diff-wide-context.diff",
    type: "diff",
    compressible: true,
    text: lines(out),
    visible,
    recoverable: [out[30] as string, out[60] as string],
  };
}

function denseDiff(): CorpusInput {
  const c = new Chance(46);
  const out = [
    "diff --git a/docs/terms.md b/docs/terms.md",
    "index 1111111..2222222 100644",
    "--- a/docs/terms.md",
    "+++ b/docs/terms.md",
    "@@ -1,40 +1,40 @@",
  ];
  for (let i = 0; i < 40; i++) out.push(`-${c.sentence()}`, `+${c.sentence()}`);
  return {
    name: "git-diff-rewrite.diff",
    type: "diff",
    compressible: false,
    why: "every line is a change",
    text: lines(out),
    visible: [out[5] as string, out[44] as string, out[80] as string],
    recoverable: [],
  };
}

function commaGrep(): CorpusInput {
  const c = new Chance(47);
  const out = times(
    160,
    (i) =>
      `src/${c.of(SERVICES)}/${c.of(ENTITIES).toLowerCase()}.ts:${c.whole(4, 400)}:  ${i === 91 ? 'throw new Error("retry budget is spent", { cause })' : `await ${c.of(VERBS)}${c.of(ENTITIES)}(${c.words(1)}, ${c.words(1)}Options)`};`,
  );
  return {
    name: "grep-one-comma-a-line.txt",
    type: "search-result",
    compressible: true,
    text: lines(out),
    visible: ['throw new Error("retry budget is spent", { cause })', out[0] as string, out[159] as string],
    recoverable: [out[50] as string, out[120] as string],
  };
}

function todoGrep(): CorpusInput {
  const c = new Chance(48);
  const out = times(
    300,
    (i) =>
      `./packages/${c.of(SERVICES)}/lib/${c.words(1)}_${c.of(VERBS)}.rb:${c.whole(2, 640)}:    # ${i === 200 ? "FIXME: password is logged here in plain text" : `TODO: ${c.of(VERBS)} the ${c.words(1)} once the ${c.of(SERVICES)} ${c.of(["migration", "rollout", "rewrite"])} is done`}`,
  );
  return {
    name: "grep-todo.txt",
    type: "search-result",
    compressible: true,
    query: "pricing rollout reconcile",
    text: lines(out),
    visible: ["password is logged here in plain text", out[0] as string],
    recoverable: [out[100] as string, out[250] as string],
  };
}

function ripgrep(): CorpusInput {
  const c = new Chance(49);
  const out = times(
    240,
    (i) =>
      `services/${c.of(SERVICES)}/internal/${c.of(ENTITIES).toLowerCase()}/store.go:${c.whole(10, 500)}:${c.whole(2, 40)}:\t${i === 30 ? 'return nil, fmt.Errorf("lease lost: %w", ErrFenced)' : `rows, err := s.db.QueryContext(ctx, query${c.of(ENTITIES)}, ${c.words(1)}ID)`}`,
  );
  return {
    name: "ripgrep-columns.txt",
    type: "search-result",
    compressible: true,
    text: lines(out),
    visible: ["lease lost: %w", out[0] as string, out[239] as string],
    recoverable: [out[100] as string],
  };
}

function findings(): CorpusInput {
  const c = new Chance(50);
  const out = times(12, (i) => `src/app/${c.words(1)}.py:${10 + i}: ${c.sentence(4, 7)}`);
  return {
    name: "grep-few-hits.txt",
    type: "search-result",
    compressible: false,
    why: "small",
    text: lines(out),
    visible: out,
    recoverable: [],
  };
}

function history(): CorpusInput {
  const c = new Chance(51);
  const out = times(
    45,
    (i) =>
      `commit ${c.hex(40)}\nAuthor: ${c.person()} <dev${i}@acme.example>\nDate:   ${moment(i * 7.2e6)}\n\n    ${c.sentence(5, 9)}\n\n    ${c.sentence(12, 24)}\n`,
  );
  return {
    name: "git-log.txt",
    type: "text",
    compressible: false,
    why: "every commit says something else",
    text: lines(out),
    visible: [],
    recoverable: [(out[20] as string).slice(0, 47), CITIES[0] ? (out[40] as string).slice(7, 47) : ""],
  };
}

export const terminals = (): CorpusInput[] => [
  install(),
  image(),
  download(),
  compiler(),
  wideDiff(),
  denseDiff(),
  commaGrep(),
  todoGrep(),
  ripgrep(),
  findings(),
  history(),
];
