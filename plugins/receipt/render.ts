/** A receipt for a person at a terminal. */
import { detailsIn } from "./details.ts";
import { type Receipt, type ReceiptTool, UNDECLARED } from "./schema.ts";
import { grouped, plural, share, tokens } from "./wording.ts";

export interface RenderOptions {
  /** Default: false. */
  readonly color?: boolean;
  /** Columns; long rows go on in the next line. Default: 100. */
  readonly width?: number;
  /** Where the full receipt was written. */
  readonly path?: string;
}

const LABEL = 15;
const INDENT = 2;
/** Money is a catalog price times reported usage, never an invoice. */
const MONEY_CLAIM = "estimated list price, inferred";

/** The lines a person reads after a run, with a final line break. */
export function renderReceipt(receipt: Receipt, options: RenderOptions = {}): string {
  const paint = painter(options.color ?? false);
  const width = Math.max(40, options.width ?? 100);
  const lines = [headerOf(receipt, paint), ""];
  for (const [label, values] of rowsOf(receipt, options.path)) {
    const texts = label === "full receipt" ? values : values.flatMap((value) => wrap(value, width - INDENT - LABEL));
    for (const [index, text] of texts.entries())
      lines.push(`${" ".repeat(INDENT)}${paint("dim", (index === 0 ? label : "").padEnd(LABEL))}${text}`.trimEnd());
  }
  return `${lines.join("\n")}\n`;
}

type Paint = (format: "dim" | "green" | "yellow" | "red", text: string) => string;
const painter =
  (color: boolean): Paint =>
  (format, text) =>
    color && text.trim()
      ? process.getBuiltinModule("node:util").styleText(format, text, { validateStream: false })
      : text;

function headerOf(receipt: Receipt, paint: Paint): string {
  const turns = receipt.turns ?? 0;
  const length = `${plural(turns, "turn")} · ${((receipt.durationMs ?? 0) / 1000).toFixed(1)}s`;
  if (receipt.open) return paint("yellow", `run open · ${length}`);
  if (receipt.stopReason === "complete") return paint("green", `run complete · ${length}`);
  if (receipt.stopReason === "error" || receipt.stopReason === "aborted")
    return paint("red", `run failed — ${plain(receipt.errorCode ?? receipt.stopReason)}`);
  return paint("yellow", `run stopped — ${receipt.stopReason.replaceAll("_", " ")}`);
}

function rowsOf(receipt: Receipt, path: string | undefined): [label: string, values: string[]][] {
  const tree = treeOf(receipt);
  const sum = (of: (call: Receipt["calls"][number]) => number): number =>
    tree.flatMap((one) => one.calls).reduce((total, call) => total + of(call), 0);
  const input = sum((call) => call.inputTokens + call.cacheReadTokens + call.cacheWriteTokens);
  const reasoning = sum((call) => call.reasoningTokens);
  const detail = detailRows(tree);
  const rows: [string, string[]][] = [
    ["model", [[...new Set(receipt.calls.map((call) => plain(`${call.provider}/${call.model}`)))].join(", ")]],
    ["calls", [callsOf(tree)]],
    [
      "input",
      [
        `${tokens(input)}${receipt.cacheShare === undefined || receipt.cacheShare === 0 ? "" : ` · ${share(receipt.cacheShare)} from cache`}`,
      ],
    ],
    ["output", [tokens(sum((call) => call.outputTokens))]],
    ["reasoning", [reasoning > 0 ? tokens(reasoning) : ""]],
    ["prompt cache", detail("prompt cache")],
    ["tools", [receipt.tools.map(toolOf).join(", ")]],
    ["policy", detail("policy")],
    ["mcp", detail("mcp")],
    ["cost", [costOf(receipt, tree)]],
    ["budget", [budgetOf(receipt)]],
    [
      "tranches",
      receipt.tranches.map(
        (tranche) => `${money(receipt, tranche.amount)} released at call ${tranche.atCall} · ${plain(tranche.reason)}`,
      ),
    ],
    ["clamps", [clampsOf(tree)]],
    [
      "breakers",
      receipt.breakers.map(
        (breaker) =>
          `${breaker.kind.replaceAll("_", " ")}${breaker.tool ? ` · ${plain(breaker.tool)}` : ""} ×${breaker.count}`,
      ),
    ],
    ["capped outputs", detail("capped outputs")],
    ["compression", detail("compression")],
    ["context edits", detail("context edits")],
    ["compactions", [...compactionsOf(receipt), ...detail("compactions")]],
    ["subagents", childrenOf(receipt)],
    [
      "resumed",
      [
        receipt.resume
          ? `attempt ${receipt.resume.attempts} · ${plural(receipt.resume.priorCalls, "call")} before${receipt.resume.possibleDoubleCountCalls > 0 ? ` · ${receipt.resume.possibleDoubleCountCalls} possibly counted twice` : ""}`
          : "",
      ],
    ],
    ["full receipt", [path ?? ""]],
  ];
  return rows
    .map(([label, values]): [string, string[]] => [label, values.filter((value) => value !== "")])
    .filter(([, values]) => values.length > 0);
}

/** The lines of one kind of row in the whole tree; those of a run below say whose they are. */
function detailRows(tree: readonly Receipt[]): (label: string) => string[] {
  const found = tree.flatMap((one, index) =>
    detailsIn(one, usd).flatMap(([label, lines]) =>
      lines.map((line): [string, string] => [label, plain(index === 0 ? line : `${one.agentId}: ${line}`)]),
    ),
  );
  return (wanted) => found.flatMap(([label, line]) => (label === wanted ? [line] : []));
}

const treeOf = (receipt: Receipt): Receipt[] => [receipt, ...receipt.subagents.flatMap(treeOf)];

function callsOf(tree: readonly Receipt[]): string {
  const calls = tree.flatMap((one) => one.calls);
  const below = calls.length - (tree[0]?.calls.length ?? 0);
  const count = (of: (call: Receipt["calls"][number]) => boolean): number => calls.filter(of).length;
  const notes: [number, string][] = [
    [below, "in subagents"],
    [count((call) => (call.attempt ?? 1) > 1), "retried"],
    [count((call) => call.purpose === "summary"), "for summaries"],
    [count((call) => call.errorCode !== undefined), "failed"],
    [count((call) => call.usageBasis === "partial"), "with partial usage"],
    [count((call) => call.usageBasis === "bound"), "booked at the bound"],
  ];
  return [String(calls.length), ...notes.filter(([n]) => n > 0).map(([n, what]) => `${n} ${what}`)].join(" · ");
}

function toolOf(tool: ReceiptTool): string {
  // What was refused is told apart from what ran.
  const denied = tool.denied ?? 0;
  const errors = tool.errors - denied;
  const notes = [errors > 0 ? plural(errors, "error") : "", denied > 0 ? `${denied} denied` : ""]
    .filter(Boolean)
    .join(", ");
  const name =
    tool.name === UNDECLARED && tool.nameDigest
      ? `${UNDECLARED} ${plain(tool.nameDigest).slice(0, 8)}`
      : plain(tool.name);
  return `${name} ×${Math.max(0, tool.calls - denied)}${notes ? ` (${notes})` : ""}`;
}

function costOf(receipt: Receipt, tree: readonly Receipt[]): string {
  const simulated = tree.some((one) => one.calls.some((call) => call.simulated)) ? " (simulated)" : "";
  if (!receipt.unpriced) return `${usd(receipt.totalEstimatedUsd)}${simulated} · ${MONEY_CLAIM}`;
  const calls = tree.flatMap((one) => one.calls);
  const missing = calls.filter((call) => call.unpriced).length;
  return `unpriced${simulated}${missing > 0 && missing < calls.length ? ` · ${missing} of ${plural(calls.length, "call")} without a price` : ""}`;
}

function budgetOf(receipt: Receipt): string {
  if (receipt.denomination === "none" || receipt.max === undefined) return "";
  const staged =
    receipt.released !== undefined && receipt.released < receipt.max
      ? ` · ${money(receipt, receipt.released)} released`
      : "";
  const left =
    receipt.overspent > 0
      ? `over by ${money(receipt, receipt.overspent)}`
      : `${money(receipt, receipt.remaining ?? Math.max(0, (receipt.released ?? receipt.max) - (receipt.spent ?? 0)))} remaining`;
  const below = receipt.capBreached && receipt.overspent === 0 ? " · a subagent passed its own" : "";
  return `${money(receipt, receipt.spent ?? 0)} of ${money(receipt, receipt.max)}${staged} · ${left}${below}${receipt.denomination === "usd" ? ` · ${MONEY_CLAIM}` : ""}`;
}

function clampsOf(tree: readonly Receipt[]): string {
  const clamps = tree
    .flatMap((one) => one.calls)
    .flatMap((call) => (call.clampedOutputTokens === undefined ? [] : [call.clampedOutputTokens]));
  return clamps.length === 0
    ? ""
    : `${plural(clamps.length, "call")} held to ${clamps
        .map(grouped)
        .slice(0, 5)
        .join(", ")}${clamps.length > 5 ? ", …" : ""} output tokens`;
}

function compactionsOf(receipt: Receipt): string[] {
  if (receipt.compactions.length > 0)
    return receipt.compactions.map(
      (one) =>
        `${one.tier} · ${grouped(one.preTokens)} → ${tokens(one.postTokens)} · modeled net ${signed(one.modeledNetTokens)} tokens${one.unpriced ? " · summary unpriced" : ""}`,
    );
  const rewrites = receipt.rewrites ?? [];
  return rewrites.length === 0
    ? []
    : [
        `${plural(rewrites.length, "rewrite")} of the view by ${[...new Set(rewrites.map((one) => plain(one.by)))].join(", ")}`,
      ];
}

function childrenOf(receipt: Receipt, trunk = ""): string[] {
  return receipt.subagents.flatMap((child, index) => {
    const last = index === receipt.subagents.length - 1;
    const cost = child.unpriced ? "unpriced" : usd(child.totalEstimatedUsd);
    const end = child.open ? "open" : child.errorCode ? plain(child.errorCode) : child.stopReason.replaceAll("_", " ");
    return [
      `${trunk}${last ? "└─" : "├─"} ${plain(child.agentId)} · ${end} · ${plural(child.calls.length, "call")} · ${tokens(child.totalTokens)} · ${cost}`,
      ...childrenOf(child, `${trunk}${last ? "   " : "│  "}`),
    ];
  });
}

const signed = (n: number): string => `${n > 0 ? "+" : n < 0 ? "−" : ""}${grouped(Math.abs(n))}`;
const money = (receipt: Receipt, amount: number): string =>
  receipt.denomination === "usd" ? usd(amount) : tokens(amount);

/** Dollars to a millionth, at least to the cent; the receipt itself has every digit. */
function usd(amount: number): string {
  if (amount > 0 && amount < 0.000001) return "<$0.000001";
  const [whole, fraction = ""] = amount.toFixed(6).split(".");
  return `$${whole}.${fraction.replace(/0+$/, "").padEnd(2, "0")}`;
}

/** Names come from definitions and from vendors: nothing in them may move the cursor or turn the text around. */
const plain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "�");

/** Breaks at spaces; one word longer than the line stays whole. */
function wrap(text: string, width: number): string[] {
  if (text.length <= width) return [text];
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" && lines.length === 0 && word === "" ? " " : line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
