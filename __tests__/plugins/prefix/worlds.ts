/** What the tests of the prefix share: a provider that caches as the documentation of vendors says, and what it saw. */
import type { CallOptions, LanguageModel, ModelTool, Run } from "../../../kernel/index.ts";
import { type Script, type ScriptStep, scripted } from "../../../plugins/providers/scripted/index.ts";

export interface Seen {
  /** Each part of the request in the order a provider caches it: tools, then messages, without cache hints. */
  readonly parts: readonly string[];
}

const unhinted = (_key: string, value: unknown): unknown => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const { cacheControl: _, cachePoint: __, ...rest } = value as Record<string, unknown>;
  const emptied = "cacheControl" in value || "cachePoint" in value;
  return emptied && Object.keys(rest).length === 0 ? undefined : rest;
};
/** A message as a provider counts it: a provider option that held nothing but hints is none. */
const written = (value: object): string =>
  JSON.stringify(value, unhinted).replaceAll(/,?"providerOptions":\{(?:"(?:anthropic|bedrock)":\{\})?\}/g, "");

const seenIn = ({ prompt, tools = [] }: Pick<CallOptions, "prompt" | "tools">): Seen => ({
  parts: [
    ...tools.map((tool: ModelTool | object) => written(tool)),
    "end of tools",
    ...prompt.map((message) => written(message)),
  ],
});

/**
 * A scripted model whose usage is what a caching provider would report: four bytes a token, everything up to the end of
 * a request is cached by it and read by the next one that begins the same.
 */
export function caching(script: Script, as = "anthropic/claude-sonnet-4-5") {
  const seen: Seen[] = [];
  const size = (parts: readonly string[]): number =>
    Math.ceil(parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0) / 4);
  const play = async (request: CallOptions, index: number): Promise<ScriptStep> => {
    const now = seenIn(request);
    const input = size(now.parts);
    const read = Math.max(0, ...seen.map(({ parts }) => (begins(now.parts, parts) ? size(parts) : 0)));
    seen.push(now);
    const step = typeof script === "function" ? await script(request, index) : (script[index] ?? { text: "done" });
    return { usage: { input, output: 10, cacheRead: read, cacheWrite: input - read }, ...step };
  };
  return { model: scripted(play, { as }) as LanguageModel & { calls: readonly CallOptions[] }, seen };
}

/** Whether a request begins with the whole of another. */
export const begins = (now: readonly string[], before: readonly string[]): boolean =>
  before.length <= now.length && before.every((part, i) => part === now[i]);

export const factsOf = (run: Run) => ({
  calls: run.ledger.of("prefix.call"),
  broken: run.ledger.of("prefix.broken"),
  restored: run.ledger.of("prefix.restored"),
  totals: run.ledger.of("prefix.run"),
});
