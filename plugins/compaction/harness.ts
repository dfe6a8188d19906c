/**
 * The harness: tries a summariser on a fixture, generation after generation, many times. It owns the messages and the
 * checks; the summariser owns its model, its transport and its credentials. It shows that transitions are valid and that
 * commitments survive, not that one summary is better than another.
 */
import { CavemanError, describe, illegality, Message, type ModelMessage } from "../../kernel/index.ts";
import { carriedOver, parseContextSummary } from "./capsule.ts";
import { capsuleMessage, historyText } from "./capsule-message.ts";
import type { ContextSummary } from "./capsule-schema.ts";
import { summarizationInstruction } from "./instruction.ts";
import { DEFAULTS } from "./options.ts";
import { planOf, rebuilt } from "./plan.ts";
import { userSource } from "./sources.ts";
import { validateContextSummaryTransition } from "./transition.ts";

/** A long conversation in pieces. After each piece the context is compacted once. */
export interface CompactionFixture {
  readonly id: string;
  readonly generations: readonly (readonly ModelMessage[])[];
  /** Texts that must survive: shown in the view, or in the originals that can be read back. */
  readonly commitments: readonly string[];
  /** Tokens of the newest messages that stay; default 500, so that a fixture can be short. */
  readonly keepRecentTokens?: number;
  readonly pinnedUserTokens?: number;
}
/** One summary the harness asks for. */
export interface SummarizerRequest {
  /** The part of the conversation that leaves. */
  readonly messages: readonly ModelMessage[];
  /** To be appended as the last user message. */
  readonly instruction: string;
  readonly maxTokens: number;
  readonly generation: number;
  readonly repetition: number;
}
/** Answers with what the model wrote. */
export type ContextCompactionSummarizer = (request: SummarizerRequest) => string | Promise<string>;
/** How often and how large. */
export interface HarnessOptions {
  /** Default 1. */
  readonly repetitions?: number;
  readonly maxTokens?: number;
  readonly signal?: AbortSignal;
}
/** What a summariser did with a fixture. Shares run from 0 to 1. */
export interface ContextCompactionReport {
  readonly fixture: string;
  readonly repetitions: number;
  readonly transitions: number;
  /** Every transition was valid and no commitment was lost. */
  readonly stable: boolean;
  /** Share of transitions that were valid. */
  readonly transitionValidity: number;
  /** Share of commitments still shown in the last view. */
  readonly anchorRecall: number;
  /** Share of commitments shown, or in an original that can be read back. */
  readonly recoveryCoverage: number;
  /** Bytes after over bytes before, over the valid transitions; 1 without any. */
  readonly compressionRatio: number;
  readonly failures: readonly string[];
  readonly claimBasis: "inferred";
}

/** @throws CavemanError `cave_compaction_fixture_invalid`. */
export async function runContextCompactionHarness(
  fixture: CompactionFixture,
  summarize: ContextCompactionSummarizer,
  { repetitions = 1, maxTokens = DEFAULTS.summaryMaxTokens, signal }: HarnessOptions = {},
): Promise<ContextCompactionReport> {
  assertFixture(fixture);
  if (!Number.isSafeInteger(repetitions) || repetitions < 1)
    throw new CavemanError("cave_compaction_option_invalid", {
      place: "repetitions",
      expected: "a positive whole number",
      received: String(repetitions),
    });
  const failures: string[] = [];
  const sum = { transitions: 0, valid: 0, shown: 0, covered: 0, before: 0, after: 0 };
  for (let repetition = 0; repetition < repetitions; repetition++) {
    signal?.throwIfAborted();
    const world = new World(fixture, maxTokens);
    for (const [at, piece] of fixture.generations.entries()) {
      world.add(piece);
      sum.transitions++;
      const place = `repetition ${repetition + 1}, generation ${at + 1}`;
      const step = await world.compact(summarize, repetition);
      if ("problems" in step) failures.push(...step.problems.map((problem) => `${place}: ${problem}`));
      else {
        sum.valid++;
        sum.before += step.before;
        sum.after += step.after;
      }
    }
    for (const commitment of fixture.commitments) {
      const fate = world.fateOf(commitment);
      if (fate === "shown") sum.shown++;
      if (fate !== "lost") sum.covered++;
      else failures.push(`repetition ${repetition + 1}: ${JSON.stringify(commitment.slice(0, 80))} is lost`);
    }
  }
  const share = (part: number, whole: number): number => (whole === 0 ? 1 : part / whole);
  const planted = fixture.commitments.length * repetitions;
  return {
    fixture: fixture.id,
    repetitions,
    transitions: sum.transitions,
    stable: failures.length === 0,
    transitionValidity: share(sum.valid, sum.transitions),
    anchorRecall: share(sum.shown, planted),
    recoveryCoverage: share(sum.covered, planted),
    compressionRatio: share(sum.after, sum.before),
    failures,
    claimBasis: "inferred",
  };
}

/** One conversation as it is compacted, with the originals of what left it. */
class World {
  readonly #fixture: CompactionFixture;
  readonly #maxTokens: number;
  readonly #originals: string[] = [];
  #messages: readonly Message[] = [];
  #capsule: { readonly digest: string; readonly summary: ContextSummary } | undefined;

  constructor(fixture: CompactionFixture, maxTokens: number) {
    this.#fixture = fixture;
    this.#maxTokens = maxTokens;
  }
  add(piece: readonly ModelMessage[]): void {
    this.#messages = [...this.#messages, ...piece.map((value) => new Message(value))];
  }

  async compact(
    summarize: ContextCompactionSummarizer,
    repetition: number,
  ): Promise<{ readonly before: number; readonly after: number } | { readonly problems: readonly string[] }> {
    const { keepRecentTokens = 500, pinnedUserTokens = 200 } = this.#fixture;
    const plan = planOf(this.#messages, {
      keepRecentTokens,
      pinnedUserTokens,
      preserveFirstUserMessage: true,
      tokensOf: ({ bytes }) => Math.ceil(bytes / 4),
      capsuleDigest: this.#capsule?.digest,
    });
    if (plan.removed.length === 0) return { problems: ["the fixture leaves nothing to summarise"] };
    const prior = plan.capsule === undefined ? undefined : this.#capsule?.summary;
    const generation = (prior?.generation ?? 0) + 1;
    const required = plan.usersGone.map(userSource);
    const current = plan.usersShown.map(userSource);
    let text: string;
    try {
      text = await summarize({
        messages: this.#messages.slice(0, plan.tailFrom).map(({ value }) => value),
        instruction: summarizationInstruction({
          generation,
          required,
          current,
          anchors: prior?.critical_anchors ?? [],
          maxTokens: this.#maxTokens,
        }),
        maxTokens: this.#maxTokens,
        generation,
        repetition,
      });
    } catch (error) {
      return { problems: [`the summariser failed: ${describe(error)}`] };
    }
    const parsed = parseContextSummary(text);
    if (!parsed.ok) return { problems: [`unreadable: ${parsed.problem}`] };
    const summary = carriedOver(parsed.value, prior);
    const original = historyText(plan.removed);
    const capsule = capsuleMessage(summary, {
      removed: plan.removed.length,
      tokens: Math.ceil(Buffer.byteLength(original) / 4),
      originals: [],
    });
    const after = rebuilt(plan, capsule);
    const { ok, problems } = validateContextSummaryTransition({
      prior,
      candidate: summary,
      required,
      current,
      segments: new Map(),
      rewrite: {
        before: this.#messages,
        after,
        verbatim: plan.kept.map(({ message }) => message),
        tail: this.#messages.length - plan.tailFrom,
      },
    });
    if (!ok) return { problems };
    const sizes = { before: sizeOf(this.#messages), after: sizeOf(after) };
    this.#originals.push(original);
    this.#messages = after;
    this.#capsule = { digest: capsule.digest, summary };
    return sizes;
  }

  fateOf(commitment: string): "shown" | "recoverable" | "lost" {
    const inside = (text: string): boolean => text.includes(commitment) || text.includes(escaped(commitment));
    if (inside(historyText(this.#messages)) || this.#messages.some(({ value }) => inside(JSON.stringify(value))))
      return "shown";
    return this.#originals.some(inside) ? "recoverable" : "lost";
  }
}

const sizeOf = (messages: readonly Message[]): number => messages.reduce((sum, { bytes }) => sum + bytes, 0);
/** The text as it stands inside JSON. */
const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);

function assertFixture(fixture: CompactionFixture): void {
  const bad = (place: string, expected: string, received: string): never => {
    throw new CavemanError("cave_compaction_fixture_invalid", { place, expected, received });
  };
  if (typeof fixture?.id !== "string" || fixture.id === "") bad("fixture.id", "text", typeof fixture?.id);
  const { generations, commitments } = fixture;
  if (!Array.isArray(generations) || generations.length === 0)
    bad("fixture.generations", "at least one list of messages", "none");
  if (!Array.isArray(commitments)) bad("fixture.commitments", "a list of texts", typeof commitments);
  const messages: Message[] = [];
  for (const [at, piece] of generations.entries()) {
    if (!Array.isArray(piece) || piece.length === 0) bad(`fixture.generations[${at}]`, "messages", "none");
    messages.push(...piece.map((value: ModelMessage) => new Message(value)));
    const problem = illegality(messages);
    if (problem) bad(`fixture.generations[${at}]`, "calls with their results", problem);
  }
  const all = messages.map(({ value }) => JSON.stringify(value)).join("\n");
  for (const commitment of commitments)
    if (!all.includes(escaped(commitment)))
      bad("fixture.commitments", "texts that occur in the messages", JSON.stringify(commitment.slice(0, 80)));
}
