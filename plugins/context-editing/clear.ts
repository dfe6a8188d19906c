/**
 * The clearing machine: keeps the newest results, clears all older ones at once, or nothing when that would free too
 * little. One deep clear breaks the prompt cache once; many small ones would break it at every call.
 */
import type { Message } from "../../kernel/index.ts";
import { carriedHandles } from "./carried-handles.ts";
import { isMarker, MARKER_BYTES, markerOf, type PageBack } from "./marker.ts";
import {
  isText,
  type Occurrence,
  type OccurrenceFingerprint,
  type OccurrenceIndex,
  occurrencesIn,
  type ToolResult,
  textOfResult,
  withOutputs,
} from "./occurrences.ts";
import { refuseKeep } from "./options.ts";

/** `cc` clears at the frontier; `off` waits until a call does not fit. */
export const MICRO_COMPACT_MACHINES = Object.freeze(["off", "cc"] as const);
export type MicroCompactMachine = (typeof MICRO_COMPACT_MACHINES)[number];

/** Newest clearable results that keep their content. */
export const CC_DEFAULT_KEEP_RECENT_TOOL_RESULTS = 5;
/** With fewer the model has nothing left to work with. */
export const MIN_KEEP_RECENT_TOOL_RESULTS = 1;
/** Tokens that a pass must free. A clear that frees less costs more in cache than it saves. */
export const MIN_CLEAR_SAVINGS_TOKENS = 20_000;

/** Tools whose old results are cleared: what they show can be shown again. Reports of subagents are not among them. */
export const COMPACTABLE_TOOLS: ReadonlySet<string> = new Set([
  "bash",
  "read_file",
  "grep",
  "glob",
  "list_files",
  "write_file",
  "edit_file",
  "web_search",
  "web_fetch",
]);

/** The gate's estimate: bytes of a text over four, rounded up. */
const structuralTokens = (text: string): number => Math.ceil(Buffer.byteLength(text) / 4);

/** Stores a result's full text and says how it is read back; undefined leaves the result as it is. */
type Persist = (result: ToolResult, fullText: string) => PageBack | undefined;

/** Options of one clearing pass. */
export interface ContextEditOptions {
  /** Clearing begins when the estimate of the context exceeds this many tokens. */
  readonly budgetTokens: number;
  /** Told at most once, when something was cleared: where, and the tokens freed. What it throws is ignored. */
  readonly onCleared?: (pass: {
    readonly clears: readonly { readonly index: number; readonly part: number; readonly marker: string }[];
    readonly tokensSavedEstimate: number;
  }) => void;
  /** Newest clearable results to keep, at least 1. Default 5. */
  readonly keepRecentToolResults?: number;
  /** Where the full text goes before it leaves the view. Without it a result is cleared to a bare marker. */
  readonly offload?: { readonly persist: Persist };
  /** Tokens of the same messages, anchored on what the provider reported. Without it bytes over four are taken. */
  readonly anchoredTotalTokens?: number;
  /** Tools whose results may be cleared. Default `COMPACTABLE_TOOLS`. */
  readonly compactableTools?: ReadonlySet<string>;
  /** The tool a call ran, for the name it was recorded under. */
  readonly toolNameOf?: (recorded: string) => string;
  /** Whether a result must stay, beside the machine's own rules. */
  readonly exempt?: (result: ToolResult) => boolean;
}

type Rules = Pick<ContextEditOptions, "keepRecentToolResults" | "compactableTools" | "toolNameOf" | "exempt">;

/**
 * What a pass would clear: every clearable result older than the newest `keep`, and what that frees. A result that was
 * cleared before holds its slot among the newest, so that a second pass does not eat into what the first one kept.
 */
export function clearable(
  messages: readonly Message[],
  { keepRecentToolResults, compactableTools = COMPACTABLE_TOOLS, toolNameOf = (name) => name, exempt }: Rules,
): readonly Occurrence[] {
  const keep = keepOf(keepRecentToolResults);
  const slots = occurrencesIn(messages).filter(({ result }) => compactableTools.has(toolNameOf(result.toolName)));
  return slots.slice(0, Math.max(0, slots.length - keep)).filter(({ result }) => {
    if (!isText(result) || exempt?.(result)) return false;
    const text = textOfResult(result);
    return !isMarker(text) && Buffer.byteLength(text) > MARKER_BYTES;
  });
}

/** @throws CavemanError `cave_context_edit_option_invalid`: a value that is no whole number would disarm the machine. */
function keepOf(keep: number = CC_DEFAULT_KEEP_RECENT_TOOL_RESULTS): number {
  if (!Number.isSafeInteger(keep) || keep < 0) refuseKeep(keep);
  return Math.max(MIN_KEEP_RECENT_TOOL_RESULTS, keep);
}

export const savingsOf = (clears: readonly Occurrence[]): number =>
  clears.reduce((sum, { result }) => sum + structuralTokens(textOfResult(result)), 0);

/** One cleared result with the bytes that took its place. */
export interface Cleared extends Occurrence {
  readonly marker: string;
}

/** Calling the tool again gives a result anew, and none of the handles the old one carried: its marker must name them. */
export const againOf = ({ toolName }: ToolResult, text: string): PageBack | undefined =>
  carriedHandles(text).complete ? { again: toolName } : undefined;

/** Stores what is about to go and composes its markers. What cannot be stored is left out, and so stays in the view. */
export function compose(clears: readonly Occurrence[], persist: Persist | undefined): Cleared[] {
  return clears.flatMap((clear) => {
    const { result } = clear;
    const text = textOfResult(result);
    const way = persist ? persist(result, text) : againOf(result, text);
    return way ? [{ ...clear, marker: markerOf(result, way) }] : [];
  });
}

/** The messages with these results replaced by their markers; every other message is the same object. */
export function paint(
  messages: readonly Message[],
  clears: readonly Pick<Cleared, "index" | "part" | "marker">[],
): Message[] {
  const byMessage = new Map<number, Map<number, ToolResult["output"]>>();
  for (const { index, part, marker } of clears) {
    const outputs = byMessage.get(index) ?? new Map<number, ToolResult["output"]>();
    byMessage.set(index, outputs.set(part, { type: "text", value: marker }));
  }
  return messages.map((message, index) => {
    const outputs = byMessage.get(index);
    return outputs ? withOutputs(message, outputs) : message;
  });
}

/** Clears old tool results when the context exceeds its budget. The same array when nothing was cleared. */
export function clearStaleToolResults(messages: readonly Message[], options: ContextEditOptions): readonly Message[] {
  const { budgetTokens, offload, onCleared } = options;
  keepOf(options.keepRecentToolResults);
  const total = options.anchoredTotalTokens ?? messages.reduce((sum, { bytes }) => sum + Math.ceil(bytes / 4), 0);
  if (!(total > budgetTokens)) return messages;
  const clears = clearable(messages, options);
  if (savingsOf(clears) < MIN_CLEAR_SAVINGS_TOKENS) return messages;
  const cleared = compose(clears, offload?.persist);
  // What could not be stored may have been what made the pass worth its while.
  const tokensSavedEstimate = savingsOf(cleared);
  if (tokensSavedEstimate < MIN_CLEAR_SAVINGS_TOKENS) return messages;
  try {
    onCleared?.({
      clears: cleared.map(({ index, part, marker }) => ({ index, part, marker })),
      tokensSavedEstimate,
    });
  } catch {
    // An observer cannot fail a request.
  }
  return paint(messages, cleared);
}

/** What a rejected request would have cleared, ready for the ledger, or why nothing is. */
export type RejectionClearPlan =
  | {
      readonly cleared: readonly {
        readonly key: string;
        readonly groupCount: number;
        readonly marker: string;
        readonly fp: OccurrenceFingerprint;
      }[];
      readonly tokensSavedEstimate: number;
    }
  | { readonly declined: "no_candidates" | "below_min_savings" };

/**
 * The same machine without a budget: the provider has said that the request does not fit. A result the index cannot name
 * is neither cleared nor counted. Nothing is stored unless the plan stands.
 */
export function planRejectionClears(
  messages: readonly Message[],
  options: Rules & { readonly keyOf: OccurrenceIndex["keyOf"]; readonly offload?: ContextEditOptions["offload"] },
): RejectionClearPlan {
  const clears = clearable(messages, options).filter(({ result }) => options.keyOf(result) !== undefined);
  if (clears.length === 0) return { declined: "no_candidates" };
  if (savingsOf(clears) < MIN_CLEAR_SAVINGS_TOKENS) return { declined: "below_min_savings" };
  const composed = compose(clears, options.offload?.persist);
  if (savingsOf(composed) < MIN_CLEAR_SAVINGS_TOKENS) return { declined: "below_min_savings" };
  const cleared = composed.flatMap(({ result, marker }) => {
    const named = options.keyOf(result);
    return named ? [{ key: named.key, groupCount: named.groupCount, marker, fp: named.fp }] : [];
  });
  return { cleared, tokensSavedEstimate: savingsOf(composed) };
}
