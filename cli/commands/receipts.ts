/** `caveman receipts`: the runs that left a receipt in a directory, what each cost, and where the money went. */
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { add, format, fromDollars, type Money, toDollars, ZERO } from "../../catalog/index.ts";
import { describe } from "../../kernel/errors.ts";
import { checkJson } from "../../kernel/schema.ts";
import { type Receipt, receiptSchema } from "../../plugins/receipt/index.ts";
import { type Args, EXIT, text } from "../command.ts";
import { usage } from "../errors.ts";
import { time } from "../render/events.ts";
import { table } from "../render/table.ts";
import type { Terminal } from "../render/terminal.ts";

const RUNS = ".caveman/runs";

interface PastRun {
  /** When it started, ISO 8601 in UTC, to the second. */
  readonly when: string;
  readonly path: string;
  readonly receipt: Receipt;
}
interface Damaged {
  readonly path: string;
  readonly problem: string;
}
/** What some calls used and cost. `cost` leaves out calls without a price; `unpriced` counts them. */
interface Total {
  readonly runs: Set<string>;
  calls: number;
  tokens: number;
  cost: Money;
  unpriced: number;
  simulated: number;
}

export async function execute(args: Args, terminal: Terminal): Promise<number> {
  const dir = resolve(text(args, "dir") ?? ".");
  const page = text(args, "html");
  if (args.all === true && page === undefined) throw usage("--all belongs to --html", "Pass --html <file> too.");
  const { folder, runs, damaged } = await readRuns(dir);
  if (page !== undefined) {
    if (runs.length === 0) {
      report(damaged, terminal);
      throw damaged.length > 0
        ? usage(`No receipt in ${folder} can be read`, "Correct or remove the damaged files, or run the agent again.")
        : usage(`There is no receipt in ${folder}`, "Run an agent with caveman run first.");
    }
    const { receiptPage } = await import("../render/receipt-html.ts");
    const shown = args.all === true ? runs : runs.slice(0, 1);
    await writeFile(page, receiptPage(shown)).catch((error: unknown) => {
      throw usage(`The page cannot be written: ${describe(error)}`, "Name a file in a folder that exists.");
    });
    report(damaged, terminal);
    if (args.json) terminal.out(`${JSON.stringify({ page: resolve(page), runs: shown.length }, null, 2)}\n`);
    else terminal.out(`Wrote ${page}: ${plural(shown.length, "run")}\n`);
    return EXIT.done;
  }
  const all = runs.flatMap(({ path, receipt }) => treeOf(receipt).map((level) => ({ path, level })));
  const agents = totalsBy(all, ({ agentId }) => agentId);
  const models = totalsBy(all, undefined);
  const cost = add(...runs.map(({ receipt }) => fromDollars(receipt.totalEstimatedUsd)));
  if (args.json) {
    terminal.out(
      `${JSON.stringify({ dir, basis: "estimated_list_price_subtotal", costUsd: toDollars(cost), runs: runs.map(runJson), agents: totalsJson(agents), models: totalsJson(models), damaged }, null, 2)}\n`,
    );
    return EXIT.done;
  }
  report(damaged, terminal);
  if (runs.length === 0) {
    terminal.out(`No receipts in ${folder}\n`);
    return EXIT.done;
  }
  terminal.out(
    table([
      ["when", "agent", "model", "stop reason", "calls", "tokens", "took", "cost", "basis"],
      ...runs.map(({ when, receipt }) => {
        const calls = callsOf(receipt);
        return [
          when.slice(0, 19).replace("T", " "),
          plain(receipt.agentId),
          modelsOf(receipt).map(plain).join(", ") || "-",
          receipt.stopReason,
          `${calls.length}`,
          grouped(receipt.totalTokens),
          receipt.durationMs === undefined ? "-" : time(receipt.durationMs),
          costText(fromDollars(receipt.totalEstimatedUsd), calls.filter((call) => call.unpriced).length, calls.length),
          basisOf(receipt),
        ];
      }),
    ]),
  );
  terminal.out(`\nby agent\n${totalsTable(agents)}\nby model\n${totalsTable(models)}`);
  terminal.out(
    `\n${plural(runs.length, "run")}, ${format(cost)} in all: estimated list prices, inferred, simulated runs included\n`,
  );
  return EXIT.done;
}

/**
 * Reads every receipt of a directory, the newest first: of its `.caveman/runs`, or where that is not there of the folder
 * itself, which the option `dir` of the receipt plugin may have named. What cannot be read is damaged, not fatal.
 */
async function readRuns(dir: string): Promise<{ folder: string; runs: PastRun[]; damaged: Damaged[] }> {
  if (!(await stat(dir).catch(() => undefined))?.isDirectory())
    throw usage(`There is no directory ${dir}`, "Pass the agent's directory, where .caveman/runs is.");
  const usual = join(dir, RUNS);
  const inside = await readdir(usual).catch(() => undefined);
  const folders = inside ?? (await readdir(dir)).filter((name) => RUN_FOLDER.test(name));
  const folder = inside === undefined && folders.length > 0 ? dir : usual;
  const runs: PastRun[] = [];
  const damaged: Damaged[] = [];
  for (const name of folders.sort(newestFirst)) {
    const path = join(folder, name, "receipt.json");
    const when = RUN_FOLDER.exec(name);
    if (when === null) continue;
    const read = await receiptIn(path);
    if (typeof read === "string") damaged.push({ path, problem: read });
    else runs.push({ when: `${when[1]}T${when[2]}:${when[3]}:${when[4]}Z`, path, receipt: read });
  }
  return { folder, runs, damaged };
}
const RUN_FOLDER = /^(\d{4}-\d{2}-\d{2})T(\d{2})-(\d{2})-(\d{2})/;

/** Folders of one second end in `-2`, `-3`, …: the larger came later. */
const newestFirst = (a: string, b: string): number => b.localeCompare(a, "en", { numeric: true });

/** A receipt, or what is wrong with the file. */
async function receiptIn(path: string): Promise<Receipt | string> {
  try {
    const checked = checkJson<Receipt>(receiptSchema, JSON.parse(await readFile(path, "utf8")));
    if (!checked.ok) return checked.problem;
    for (const { totalEstimatedUsd, calls, resume } of treeOf(checked.value))
      for (const amount of [
        totalEstimatedUsd,
        resume?.priorEstimatedUsd ?? 0,
        ...calls.map((call) => call.estimatedUsd),
      ])
        fromDollars(amount);
    return checked.value;
  } catch (error) {
    return describe(error).split("\n")[0] ?? "";
  }
}

function report(damaged: readonly Damaged[], terminal: Terminal): void {
  for (const { path, problem } of damaged)
    terminal.err(`${terminal.style("yellow", "damaged")} ${path}: ${plain(problem)}\n`);
}

const treeOf = (receipt: Receipt): Receipt[] => [receipt, ...receipt.subagents.flatMap(treeOf)];
const callsOf = (receipt: Receipt): Receipt["calls"] => treeOf(receipt).flatMap(({ calls }) => calls);
const modelOf = (call: Receipt["calls"][number]): string => `${call.provider}/${call.model}`;
const modelsOf = (receipt: Receipt): string[] => [...new Set(callsOf(receipt).map(modelOf))];

/** What a resumed run spent before is of no call of this receipt, and of no model it names. */
const BEFORE = "before a resume";

function totalsBy(
  levels: readonly { readonly path: string; readonly level: Receipt }[],
  agent: ((level: Receipt) => string) | undefined,
): ReadonlyMap<string, Total> {
  const totals = new Map<string, Total>();
  const of = (name: string, path: string): Total => {
    let total = totals.get(name);
    if (!total)
      totals.set(name, (total = { runs: new Set(), calls: 0, tokens: 0, cost: ZERO, unpriced: 0, simulated: 0 }));
    total.runs.add(path);
    return total;
  };
  for (const { path, level } of levels) {
    if (agent) of(agent(level), path);
    for (const call of level.calls) {
      const total = of(agent ? agent(level) : modelOf(call), path);
      total.calls++;
      total.tokens += call.inputTokens + call.outputTokens + call.cacheReadTokens + call.cacheWriteTokens;
      total.cost = add(total.cost, fromDollars(call.estimatedUsd));
      if (call.unpriced) total.unpriced++;
      if (call.simulated) total.simulated++;
    }
    if (level.resume) {
      const total = of(agent ? agent(level) : BEFORE, path);
      total.calls += level.resume.priorCalls;
      total.tokens += level.resume.priorTokens;
      total.cost = add(total.cost, fromDollars(level.resume.priorEstimatedUsd));
      if (level.resume.priorUnpriced) total.unpriced += level.resume.priorCalls;
    }
  }
  return new Map([...totals].sort(([, a], [, b]) => (a.cost === b.cost ? 0 : a.cost < b.cost ? 1 : -1)));
}

const totalsTable = (totals: ReadonlyMap<string, Total>): string =>
  table(
    [
      ["", "runs", "calls", "tokens", "cost", ""],
      ...[...totals].map(([name, { runs, calls, tokens, cost, unpriced, simulated }]) => [
        plain(name),
        `${runs.size}`,
        grouped(calls),
        grouped(tokens),
        costText(cost, unpriced, calls),
        simulated === 0 ? "" : simulated === calls ? "simulated" : `${simulated} simulated`,
      ]),
    ],
    "  ",
  );

const totalsJson = (totals: ReadonlyMap<string, Total>): object[] =>
  [...totals].map(([name, { runs, cost, ...rest }]) => ({ name, runs: runs.size, ...rest, costUsd: toDollars(cost) }));

const runJson = ({ when, path, receipt }: PastRun): object => ({
  when,
  path,
  runId: receipt.runId,
  agentId: receipt.agentId,
  models: modelsOf(receipt),
  stopReason: receipt.stopReason,
  calls: callsOf(receipt).length,
  tokens: receipt.totalTokens,
  durationMs: receipt.durationMs ?? null,
  costUsd: toDollars(fromDollars(receipt.totalEstimatedUsd)),
  unpriced: receipt.unpriced,
  basis: basisOf(receipt),
});

/** Where the usage of a run's calls comes from: one word when they agree. */
const basisOf = (receipt: Receipt): string =>
  [...new Set(callsOf(receipt).map((call) => (call.simulated ? "simulated" : call.usageBasis)))].join(", ") ||
  "no calls";

const costText = (cost: Money, unpriced: number, calls: number): string =>
  unpriced === 0 ? format(cost) : unpriced >= calls ? "unpriced" : `${format(cost)} + ${unpriced} unpriced`;
const grouped = (count: number): string => count.toLocaleString("en-US");
const plural = (count: number, what: string): string => `${grouped(count)} ${what}${count === 1 ? "" : "s"}`;
/** Nothing in a file may move the cursor or turn the text around. */
const plain = (said: string): string => said.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "�");
