/**
 * What context costs: one coding session under several ways to keep its context, beside each other. Run it with
 * `node --conditions=caveman-source __tests__/bench/context-cost.ts`. Everything is simulated; dollars are list prices.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  agent,
  type CallOptions,
  createKernel,
  definePlugin,
  Message,
  type Plugin,
  textOf,
} from "../../kernel/index.ts";
import { compaction } from "../../plugins/compaction/index.ts";
import { compression } from "../../plugins/compression/index.ts";
import { contextEditing } from "../../plugins/context-editing/index.ts";
import { prefix } from "../../plugins/prefix/index.ts";
import { pricing } from "../../plugins/pricing/index.ts";
import { providers } from "../../plugins/providers/index.ts";
import { type ScriptStep, scripted } from "../../plugins/providers/scripted/index.ts";
import { recovery } from "../../plugins/recovery/index.ts";
import { results } from "../../plugins/results/index.ts";
import { Recovery } from "../../plugins/services.ts";
import { tokens } from "../../plugins/tokens/index.ts";
import { type CacheMode, CachingProvider } from "./context-cost-provider.ts";
import { factOf, HANDLE, QUESTIONS, Session, shownResult, tools, WORK } from "./context-cost-session.ts";

export interface Outcome {
  readonly way: string;
  readonly calls: number;
  readonly inputTokens: number;
  readonly dollars: number;
  /** Share of the input that was read from the provider's cache. */
  readonly hitRate: number;
  /** Share of the calls whose request began with the whole of the one before. */
  readonly keptRate: number;
  /** Of the planted facts, at the end of the session. */
  readonly visible: number;
  readonly recoverable: number;
  readonly answered: number;
  readonly repeated: number;
  readonly fetched: number;
}

const STUB = { type: "text", value: "[old result removed]" } as const;
/** A tool message with every long result cut to a stub; undefined when there is none. */
function stubbed({ value }: Message): Message | undefined {
  if (value.role !== "tool") return undefined;
  const long = (part: (typeof value.content)[number]): boolean =>
    part.type === "tool-result" && textOf(part.output).length > 100;
  if (!value.content.some(long)) return undefined;
  const content = value.content.map((part) =>
    part.type === "tool-result" && long(part) ? { ...part, output: STUB } : part,
  );
  return new Message({ role: "tool", content });
}

/** Results that a loop which rewrites its history leaves whole. */
const NEWEST = 5;
/** History rewritten at every call: all but the newest results are cut to a stub, as hand-made loops do. */
const naiveRewriting = definePlugin({
  name: "naive-rewriting",
  apply: ({ hooks }) =>
    hooks.compact.tap("naive-rewriting", ({ view }) => {
      const results = view.messages.filter(({ role }) => role === "tool");
      const old = new Map(results.slice(0, -NEWEST).map((message) => [message, stubbed(message)]));
      const messages = view.messages.map((message) => old.get(message) ?? message);
      const dropped = messages.filter((message, i) => message !== view.at(i)).length;
      return dropped > 0 ? view.rewrite(messages, { by: "naive-rewriting", dropped }) : undefined;
    }),
});

const WAYS = ["nothing", "naive rewriting", "ours"] as const;
type Way = (typeof WAYS)[number];

const SOLD_AS: Readonly<Record<CacheMode, string>> = {
  implicit: "openai/gpt-5.4-mini",
  explicit: "anthropic/claude-sonnet-4-5",
};

/** The plugins of a way. Every way gets the same cache hints, so that only what is done to the context differs. */
function pluginsOf(way: Way, dir: string): Plugin[] {
  if (way === "nothing") return [prefix()];
  if (way === "naive rewriting") return [naiveRewriting(), prefix()];
  return [
    tokens(),
    recovery({ path: join(dir, "originals.db") }),
    compression(),
    results(),
    contextEditing(),
    compaction(),
    prefix(),
  ];
}

export async function session(way: Way, mode: CacheMode): Promise<Outcome> {
  const dir = mkdtempSync(join(tmpdir(), "context-cost-"));
  try {
    const provider = new CachingProvider(mode);
    const user = new Session();
    let last: CallOptions | undefined;
    const play = (request: CallOptions): ScriptStep => {
      last = request;
      const step = user.step(request);
      return { ...step, usage: provider.usage(request, 40) };
    };
    const model = Object.assign(scripted(play, { as: SOLD_AS[mode] }), { contextWindow: 200_000 });
    const kernel = createKernel({ plugins: [providers(), pricing(), ...pluginsOf(way, dir)] });
    const coder = agent({
      id: "coder",
      instructions: "You work on a project with tools. Look before you answer.",
      model,
      tools: tools(),
    });
    const { run, done } = kernel.start(coder, "Find the limits of this project.");
    const outcome = await done;
    if (outcome.error) throw outcome.error;
    const answerable = { visible: 0, recoverable: 0 };
    const text = JSON.stringify(last?.prompt);
    for (let i = 0; i < WORK; i++) {
      const handle = HANDLE.exec((last && shownResult(last, i)) ?? "")?.[0];
      if (text.includes(factOf(i))) answerable.visible++;
      else if (handle && run.find(Recovery)?.retrieve(handle)?.includes(factOf(i))) answerable.recoverable++;
    }
    const priced = run.ledger.of("call.priced");
    const usages = run.ledger.of("call.settled").map(({ usage }) => usage);
    if (priced.some(({ unpriced }) => unpriced)) throw new Error("a call has no price");
    const inputTokens = usages.reduce((sum, { input }) => sum + input, 0);
    return {
      way,
      calls: usages.length,
      inputTokens,
      dollars: Number(priced.reduce((sum, { picoUsd }) => sum + BigInt(picoUsd), 0n)) / 1e12,
      hitRate: usages.reduce((sum, { cacheRead }) => sum + cacheRead, 0) / inputTokens,
      keptRate: provider.kept / provider.calls,
      ...answerable,
      answered: user.answered,
      repeated: user.repeated,
      fetched: user.fetched,
    };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

export async function contextCost(mode: CacheMode): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const way of WAYS) outcomes.push(await session(way, mode));
  return outcomes;
}

export function table(mode: CacheMode, outcomes: readonly Outcome[]): string {
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
  const rows = outcomes.map((one) => [
    one.way,
    String(one.calls),
    one.inputTokens.toLocaleString("en"),
    `$${one.dollars.toFixed(4)}`,
    percent(one.hitRate),
    percent(one.keptRate),
    `${one.visible} + ${one.recoverable} of ${WORK}`,
    `${one.answered} of ${QUESTIONS}`,
    String(one.repeated),
    String(one.fetched),
  ]);
  const head = [
    "way",
    "calls",
    "input tokens",
    "dollars",
    "read from cache",
    "prefix kept",
    "visible + recoverable",
    "answered",
    "asked again",
    "fetched back",
  ];
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join("  ")
      .trimEnd();
  return [`${mode} caching, sold as ${SOLD_AS[mode]} (simulated, list prices)`, line(head), ...rows.map(line)].join(
    "\n",
  );
}

if (import.meta.main)
  for (const mode of ["implicit", "explicit"] as const) console.log(`${table(mode, await contextCost(mode))}\n`);
