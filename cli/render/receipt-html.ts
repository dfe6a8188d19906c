/** Receipts as one page that needs nothing but itself: no script, no request, everything from a receipt escaped. */
import { createHash } from "node:crypto";
import { format, fromDollars } from "../../catalog/index.ts";
import { detailsIn, type Receipt, type ReceiptCall } from "../../plugins/receipt/index.ts";

interface PageRun {
  readonly when: string;
  readonly receipt: Receipt;
}

const STYLE = `
:root { color-scheme: light dark; --line: #8884; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; } h3 { font-size: 1rem; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .25rem .5rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; }
td.axis { width: 60%; }
.input { background: #5b8def; } .read { background: #58b368; } .write { background: #d9a441; } .output { background: #c65bcf; }
.key span { display: inline-block; width: .8rem; height: .8rem; margin: 0 .3rem 0 1rem; vertical-align: -.1rem; }
ul.tree { list-style: none; padding-left: 1.2rem; border-left: 1px solid var(--line); }
.tag { border: 1px solid currentColor; border-radius: .3rem; padding: 0 .35rem; font-size: .85em; }
`;

/** The page of some runs, in the order they are given. */
export function receiptPage(runs: readonly PageRun[]): string {
  const hash = createHash("sha256").update(STYLE).digest("base64");
  const title = runs.length === 1 ? `Run of ${runs[0]?.receipt.agentId ?? ""}` : `${runs.length} runs`;
  // Widths of bars are presentation attributes of SVG, so the policy needs no inline styles but the one it names.
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-${hash}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${escaped(title)}</h1>
<p>Money is estimated from list prices, inferred, never an invoice.</p>
${runs.map(section).join("\n")}
</body>
</html>
`;
}

/** One call with the agent that made it. */
interface Made {
  readonly agentId: string;
  readonly call: ReceiptCall;
  /** Milliseconds from the start of the root run; undefined when its receipt keeps no times. */
  readonly at: number | undefined;
}

function section({ when, receipt }: PageRun): string {
  const calls = callsOf(receipt);
  const simulated = calls.some(({ call }) => call.simulated);
  const facts: [string, string][] = [
    ["started", when],
    ["run", receipt.runId],
    ["ended", `${receipt.stopReason.replaceAll("_", " ")}${receipt.errorCode ? `, ${receipt.errorCode}` : ""}`],
    ["took", receipt.durationMs === undefined ? "unknown" : `${grouped(Math.round(receipt.durationMs))} ms`],
    ["turns", receipt.turns === undefined ? "unknown" : grouped(receipt.turns)],
    ["calls", grouped(calls.length)],
    ["tokens", grouped(receipt.totalTokens)],
    [
      "from cache",
      receipt.cacheShare === undefined ? "no input" : `${Math.floor(receipt.cacheShare * 100)}% of the input`,
    ],
    [
      "cost",
      `${usd(receipt.totalEstimatedUsd)}${receipt.unpriced ? ", some calls are unpriced" : ""}${simulated ? ", simulated" : ""}`,
    ],
    ["budget", budgetOf(receipt)],
  ];
  return `<section>
<h2>${escaped(receipt.agentId)} ${simulated ? '<span class="tag">simulated</span>' : ""}</h2>
<table>${facts
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `<tr><th scope="row">${escaped(name)}</th><td>${escaped(value)}</td></tr>`)
    .join("")}</table>
<h3>Timeline</h3>
${timeline(calls, receipt.durationMs ?? 0)}
<h3>Tokens by call</h3>
<p class="key">tokens: <span class="input"></span>input <span class="read"></span>cache read <span class="write"></span>cache write <span class="output"></span>output</p>
${tokens(calls)}
<h3>Cost by call</h3>
${costs(calls)}
<h3>Tree of agents</h3>
<ul class="tree">${branch(receipt)}</ul>
${details(receipt)}${notes(receipt)}</section>`;
}

/** When each call was made and how long it took, on one axis from the start of the run to its end. */
function timeline(calls: readonly Made[], durationMs: number): string {
  const timed = calls.flatMap(({ at, ...made }) => (at === undefined ? [] : [{ ...made, at }]));
  if (timed.length === 0) return "<p>No times were kept.</p>";
  const end = timed.reduce((most, { at, call }) => Math.max(most, at + (call.latencyMs ?? 0)), Math.max(1, durationMs));
  const rows = timed.map(({ agentId, call, at }, index) => {
    const took = call.latencyMs ?? 0;
    const x = (at / end) * 100;
    const width = Math.max(0.3, (took / end) * 100);
    return `<tr><td class="n">${index + 1}</td><td>${escaped(agentId)}</td><td class="axis"><svg aria-hidden="true" width="100%" height="12" viewBox="0 0 100 10" preserveAspectRatio="none"><rect x="${Math.min(x, 99.7).toFixed(3)}" y="0" width="${width.toFixed(3)}" height="10" fill="${call.errorCode ? COLOURS.write : COLOURS.cost}"/></svg></td><td class="n">${grouped(Math.round(at))} ms</td><td class="n">${grouped(Math.round(took))} ms</td></tr>`;
  });
  return `<div class="wide"><table><thead><tr><th class="n">#</th><th>agent</th><th class="axis">0 to ${grouped(Math.round(end))} ms</th><th class="n">began</th><th class="n">took</th></tr></thead><tbody>${rows.join("")}</tbody></table></div>`;
}

function tokens(calls: readonly Made[]): string {
  if (calls.length === 0) return "<p>No calls.</p>";
  const most = Math.max(1, ...calls.map(({ call }) => tokensOf(call)));
  const rows = calls.map(({ agentId, call }, at) => {
    const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens } = call;
    return `<tr><td class="n">${at + 1}</td><td>${escaped(agentId)}</td><td>${escaped(`${call.provider}/${call.model}`)}</td><td>${bar(
      [
        ["input", inputTokens],
        ["read", cacheReadTokens],
        ["write", cacheWriteTokens],
        ["output", outputTokens],
      ],
      most,
    )}</td>${[inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens].map((count) => `<td class="n">${grouped(count)}</td>`).join("")}<td>${escaped(callNotes(call))}</td></tr>`;
  });
  return `<div class="wide"><table><thead><tr><th class="n">#</th><th>agent</th><th>model</th><th>tokens</th><th class="n">input</th><th class="n">read</th><th class="n">written</th><th class="n">output</th><th></th></tr></thead><tbody>${rows.join("")}</tbody></table></div>`;
}

function costs(calls: readonly Made[]): string {
  if (calls.length === 0) return "<p>No calls.</p>";
  const most = Math.max(...calls.map(({ call }) => call.estimatedUsd));
  const rows = calls.map(
    ({ agentId, call }, at) =>
      `<tr><td class="n">${at + 1}</td><td>${escaped(agentId)}</td><td>${bar([["cost", call.estimatedUsd]], most)}</td><td class="n">${call.unpriced ? "unpriced" : escaped(usd(call.estimatedUsd))}</td></tr>`,
  );
  return `<div class="wide"><table><thead><tr><th class="n">#</th><th>agent</th><th>cost</th><th class="n">estimated</th></tr></thead><tbody>${rows.join("")}</tbody></table></div>`;
}

/** Parts beside each other, as wide as they are of the most. The numbers stand beside it, so it says nothing to a reader of text. */
function bar(parts: readonly (readonly [kind: string, size: number])[], most: number): string {
  let at = 0;
  const shapes = parts.map(([kind, size]) => {
    const width = most > 0 ? (size / most) * 100 : 0;
    const shape = `<rect x="${at.toFixed(3)}" y="0" width="${width.toFixed(3)}" height="10" fill="${COLOURS[kind] ?? "gray"}"/>`;
    at += width;
    return width > 0 ? shape : "";
  });
  return `<svg aria-hidden="true" width="200" height="12" viewBox="0 0 100 10" preserveAspectRatio="none">${shapes.join("")}</svg>`;
}
const COLOURS: Readonly<Record<string, string>> = {
  input: "#5b8def",
  cost: "#5b8def",
  read: "#58b368",
  write: "#d9a441",
  output: "#c65bcf",
};

function branch(receipt: Receipt): string {
  const cost = `${usd(receipt.totalEstimatedUsd)}${receipt.unpriced ? " and unpriced calls" : ""}`;
  const below = receipt.subagents.map(branch).join("");
  return `<li><strong>${escaped(receipt.agentId)}</strong>: ${escaped(receipt.errorCode ?? receipt.stopReason.replaceAll("_", " "))}, ${plural(receipt.calls.length, "call")} of its own, ${escaped(plural(receipt.totalTokens, "token"))} and ${escaped(cost)} with those below${below ? `<ul class="tree">${below}</ul>` : ""}</li>`;
}

function notes(receipt: Receipt): string {
  const tree = treeOf(receipt);
  const rows = [
    ...tree.flatMap(({ agentId, tools }) =>
      tools.map((tool) => [
        agentId,
        `tool ${tool.name}`,
        `${plural(tool.calls, "call")}${tool.errors > 0 ? `, ${plural(tool.errors, "error")}` : ""}${tool.denied ? `, ${tool.denied} of them denied` : ""}`,
      ]),
    ),
    ...tree.flatMap(({ agentId, breakers }) =>
      breakers.map(({ kind, tool, count }) => [
        agentId,
        `breaker ${kind.replaceAll("_", " ")}`,
        `${tool ? `${tool}, ` : ""}${count} times`,
      ]),
    ),
    ...tree.flatMap(({ agentId, tranches, denomination }) =>
      tranches.map(({ amount, reason, atCall }) => [
        agentId,
        "tranche",
        `${denomination === "tokens" ? plural(amount, "token") : usd(amount)} at call ${atCall}: ${reason}`,
      ]),
    ),
  ];
  if (rows.length === 0) return "";
  return `<h3>Tools, breakers and tranches</h3>${table(rows)}`;
}

/** What the cache did, what was shown smaller or cleared, who decided; nothing for a tree without any of it. */
function details(receipt: Receipt): string {
  const rows = treeOf(receipt).flatMap((one) => [
    ...one.compactions.map(({ tier, preTokens, postTokens }) => [
      one.agentId,
      "compactions",
      `${tier} · ${grouped(preTokens)} → ${plural(postTokens, "token")}`,
    ]),
    ...detailsIn(one, usd).flatMap(([label, lines]) => lines.map((line) => [one.agentId, label, line])),
  ]);
  return rows.length === 0 ? "" : `<h3>Context and decisions</h3>${table(rows)}`;
}

const table = (rows: readonly (readonly string[])[]): string =>
  `<div class="wide"><table>${rows.map((row) => `<tr>${row.map((cell) => `<td>${escaped(cell)}</td>`).join("")}</tr>`).join("")}</table></div>`;

const treeOf = (receipt: Receipt): Receipt[] => [receipt, ...receipt.subagents.flatMap(treeOf)];
/** The calls of the tree, in the order they were made where times were kept. */
const callsOf = (receipt: Receipt): Made[] =>
  treeOf(receipt)
    .flatMap(({ agentId, calls, startedAt }) =>
      calls.map((call) => ({
        agentId,
        call,
        at:
          startedAt === undefined || receipt.startedAt === undefined || call.atMs === undefined
            ? undefined
            : Math.max(0, startedAt - receipt.startedAt + call.atMs),
      })),
    )
    .sort((a, b) => (a.at ?? 0) - (b.at ?? 0));
const tokensOf = (call: ReceiptCall): number =>
  call.inputTokens + call.cacheReadTokens + call.cacheWriteTokens + call.outputTokens;

function callNotes(call: ReceiptCall): string {
  return [
    call.purpose === undefined || call.purpose === "turn" ? "" : call.purpose,
    (call.attempt ?? 1) > 1 ? `attempt ${call.attempt}` : "",
    call.clampedOutputTokens === undefined ? "" : `held to ${grouped(call.clampedOutputTokens)} output tokens`,
    call.errorCode ?? "",
    call.usageBasis.replaceAll("_", " "),
  ]
    .filter(Boolean)
    .join(", ");
}

function budgetOf({ denomination, max, spent, overspent, remaining }: Receipt): string {
  if (denomination === "none" || max === undefined) return "";
  const amount = (value: number): string => (denomination === "tokens" ? plural(value, "token") : usd(value));
  return `${amount(spent ?? 0)} of ${amount(max)}${overspent > 0 ? `, over by ${amount(overspent)}` : remaining === undefined ? "" : `, ${amount(remaining)} remaining`}`;
}

/** Sums of numbers, such as `max` in dollars, may be finer than a picodollar: those are shown as they are. */
function usd(amount: number): string {
  try {
    return format(fromDollars(amount));
  } catch {
    return `$${amount}`;
  }
}
const grouped = (count: number): string => count.toLocaleString("en-US");
const plural = (count: number, what: string): string => `${grouped(count)} ${what}${count === 1 ? "" : "s"}`;

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
/** Text as text: markup is escaped, and characters that turn or hide text are made visible. */
const escaped = (said: string): string =>
  said.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "�").replace(/[&<>"']/g, (sign) => ENTITIES[sign] ?? "");
