/**
 * The breakers of one run. A turn begins when a model call is settled and is over when the last of its tool calls has a
 * result; repeats are judged call by call, progress turn by turn. The first finding is a nudge, the next a stop.
 */
import { type Static, Type } from "@sinclair/typebox";
import {
  checkJson,
  type Denial,
  type Fact,
  type Run,
  type SettledCall,
  type StopReason,
  type ToolCall,
  type ToolOutput,
  textOf,
} from "../../kernel/index.ts";
import { Content, sha256 } from "./digest.ts";
import type { Limits } from "./options.ts";
import { type Part, Progress } from "./progress.ts";
import { type Cycle, Entry, RepeatWindow } from "./repeat-window.ts";

const digest = Type.String({ pattern: "^[0-9a-f]{64}$" });
export const SavedWatch = Type.Object({
  turn: Type.Integer({ minimum: 0 }),
  entries: Type.Array(
    Type.Object({
      turn: Type.Integer({ minimum: 0 }),
      tool: Type.String(),
      args: digest,
      result: Type.Optional(digest),
      failed: Type.Boolean(),
      pardoned: Type.Boolean(),
      nudged: Type.Boolean(),
    }),
  ),
  progress: Type.Object({ signature: digest, count: Type.Integer({ minimum: 0 }) }),
});

/** One tool call of the turn under way. */
interface Slot {
  readonly toolCallId: string;
  readonly name: string;
  readonly entry: Entry | undefined;
  result: Content | undefined;
  /** Nothing repeats here, and no other call of the turn can change that. */
  free: boolean;
}

const WORKS = /^cave_memory_/;

export class Watch {
  readonly #run: Run;
  readonly #limits: Limits | undefined;
  readonly #repeats: RepeatWindow;
  readonly #progress: Progress;
  #turn = 0;
  #text = "";
  /** As many as a turn may make calls, so they are looked through. */
  #slots: Slot[] = [];
  /** Tool calls of the turn that have no result yet. */
  #left = 0;
  #asked = 0;
  /** Something of the turn is progress, or is meant to be repeated. */
  #moved = false;
  /** Turn in which the model was told that it makes no progress. */
  #told: number | undefined;
  #stopped: { readonly code: string; readonly message: string; readonly stop: StopReason } | undefined;

  constructor(run: Run, limits: Limits | undefined, saved: unknown) {
    this.#run = run;
    this.#limits = limits;
    const read = saved === undefined ? undefined : checkJson<Static<typeof SavedWatch>>(SavedWatch, saved);
    const state = read?.ok ? read.value : undefined;
    this.#turn = state?.turn ?? 0;
    this.#repeats = new RepeatWindow(limits?.times ?? 3, limits?.turns ?? 8, limits?.perTurn ?? 8, state?.entries);
    this.#progress = new Progress(state?.progress);
    if (limits) run.ledger.subscribe((fact) => this.#ended(fact));
  }

  /** A model call is over: its turn begins. */
  answered({ purpose, content, error }: SettledCall): void {
    if (!this.#limits || purpose === "summary" || error) return;
    this.#over();
    this.#turn++;
    this.#slots = [];
    this.#text = "";
    this.#moved = false;
    this.#left = this.#asked = 0;
    for (const part of content) {
      if (part.type === "text") this.#text += part.text;
      else if (part.type === "tool-call" && !part.providerExecuted) this.#left++;
    }
    if (this.#left > 0) return;
    // An answer to the user: what comes next was asked for anew.
    this.#repeats.clear();
    this.#progress.reset();
    this.#told = undefined;
  }

  /** Why no further model call goes out. */
  refusal(): { refuse: { code: string; message: string; stop: StopReason } } | undefined {
    return this.#stopped && { refuse: this.#stopped };
  }

  /** Counts a tool call and judges what can be known before it runs. */
  admit(call: ToolCall): Denial | undefined {
    const limits = this.#limits;
    if (!limits || call.parent || call.speculative !== undefined) return undefined;
    const { name, tool, problem } = call;
    const args = Content.ofValue(call.input);
    if (++this.#asked > limits.perTurn) {
      this.#moved = true; // what was refused here is asked for again with good reason
      this.#record("fan_out_blocked", sha256(`${name}\0${args.digest}`), this.#asked, name);
      return deny(
        "cave_fan_out_cap_exceeded",
        `One turn may make ${limits.perTurn} tool calls; ask for this one again in the next turn if it is still needed.`,
      );
    }
    const repeatable = tool?.allowRepeat === true;
    const entry = repeatable ? undefined : new Entry(this.#turn, name, args);
    const slot: Slot = { toolCallId: call.toolCallId, name, entry, result: undefined, free: false };
    this.#place(slot);
    if (!entry) {
      this.#moved = true;
      return undefined;
    }
    this.#repeats.push(entry);
    const careful = problem !== undefined || tool === undefined || tool.effect !== "read" || tool.kind === "subagent";
    const cycle = careful ? this.#repeats.cycleAt(entry, true) : undefined;
    if (cycle) return this.#denied(entry, cycle, problem?.message);
    call.output((output) => this.#gave(slot, entry, output));
    return undefined;
  }

  /** A call that acts is not executed once more to see whether it repeats itself. */
  #denied(entry: Entry, cycle: Cycle, problem: string | undefined): Denial {
    const before = this.#repeats.before(entry, cycle);
    entry.result = before?.result;
    entry.failed = before?.failed ?? false;
    if (this.#isLoop(cycle)) {
      this.#trip(entry.tool, cycle);
      return deny(
        "cave_tool_call_loop_detected",
        "These calls went on repeating after a warning, so the run ends here.",
      );
    }
    this.#nudge(entry, cycle);
    return deny(
      "cave_tool_call_loop_nudge",
      `${problem ? `${problem} ` : ""}${repeated(cycle)} It was not executed this time.`,
    );
  }

  /**
   * Sees what a call gave before anyone shortens it; the nudge is added to what the model reads. The text is kept, not
   * the value, which the tool may change and give again.
   */
  #gave(slot: Slot, entry: Entry, output: ToolOutput): ToolOutput {
    const failed = output.type === "error-text" || output.type === "error-json";
    slot.result = entry.result = Content.of(textOf(output));
    entry.failed = failed;
    this.#repeats.closed(entry);
    const cycle = this.#repeats.cycleAt(entry);
    slot.free = !cycle && this.#slots.length === 1;
    if (cycle && !cycle.warned) {
      this.#nudge(entry, cycle);
      return withText(output, `cave_tool_call_loop_nudge: ${repeated(cycle)}`);
    }
    if (
      !cycle &&
      this.#left === 1 &&
      !this.#moved &&
      this.#progress.count >= (this.#limits?.noProgress ?? 0) - 1 &&
      this.#told === undefined &&
      this.#progress.same(this.#text, this.#parts())
    ) {
      this.#told = this.#turn;
      this.#record("no_progress", this.#progress.signature, this.#progress.count + 1);
      this.#run.notice("breakers", "cave_no_progress_nudge", "The model was told that it makes no progress.");
      return withText(
        output,
        `cave_no_progress_nudge: The last ${this.#progress.count + 1} turns said and found the same. Try another way, or answer with what is known.`,
      );
    }
    return output;
  }

  /** A tool call has its result, whoever gave it. */
  #ended(fact: Fact): void {
    if ((fact.type !== "tool.finished" && fact.type !== "tool.denied") || fact.nested || this.#left === 0) return;
    const { toolCallId, name } = fact;
    const slot =
      this.#slots[this.#placeOf(toolCallId)] ??
      this.#place({ toolCallId, name, entry: undefined, result: undefined, free: false });
    const { entry } = slot;
    if (fact.type === "tool.denied") {
      slot.result ??= Content.of(`denied ${fact.code}`);
      if (entry && !entry.result) {
        entry.result = slot.result;
        entry.failed = true;
        this.#repeats.closed(entry);
      }
    } else {
      slot.result ??= this.#moved ? Content.of("") : Content.saved(fact.resultDigest);
      if (!fact.isError && this.#works(fact)) this.#moved = true;
    }
    if (entry && !slot.free && !this.#run.stopping) {
      const cycle = this.#repeats.cycleAt(entry);
      if (cycle && this.#isLoop(cycle)) this.#trip(fact.name, cycle);
    }
    if (--this.#left === 0) this.#over();
  }

  #works({ name, effect }: Fact<"tool.finished">): boolean {
    return effect !== "read" || WORKS.test(name) || this.#run.tools.get(name)?.kind === "subagent";
  }

  /** The turn is complete. Also called before the next one, for a turn that some other loop left incomplete. */
  #over(): void {
    const parts = this.#parts();
    if (parts.length === 0) return;
    if (this.#moved) {
      this.#progress.reset();
      this.#told = undefined;
    } else {
      const count = this.#progress.turn(this.#text, parts);
      if (count === 1) this.#told = undefined;
      const { noProgress } = this.#limits ?? { noProgress: Number.POSITIVE_INFINITY };
      if (count > noProgress && (this.#told === undefined || this.#told < this.#turn) && !this.#run.stopping) {
        this.#record("no_progress", this.#progress.signature, count);
        this.#stop("no_progress", "cave_no_progress", "Turns went on saying and finding the same.");
      }
    }
    this.#slots = [];
  }

  /** One slot for each id; of two calls with one id the later takes it. */
  #place(slot: Slot): Slot {
    const at = this.#placeOf(slot.toolCallId);
    if (this.#slots.length === 0) this.#slots = [slot];
    else if (at < 0) this.#slots.push(slot);
    else this.#slots[at] = slot;
    return slot;
  }
  #placeOf(toolCallId: string): number {
    let at = this.#slots.length - 1;
    while (at >= 0 && this.#slots[at]?.toolCallId !== toolCallId) at--;
    return at;
  }

  #parts(): Part[] {
    return this.#slots.every(isPart) ? this.#slots : this.#slots.filter(isPart);
  }

  #isLoop({ times, warned }: Cycle): boolean {
    return warned && times > (this.#limits?.times ?? 0);
  }
  #nudge(entry: Entry, cycle: Cycle): void {
    entry.nudged = true;
    this.#record("loop_detected", cycle.signature, cycle.times, entry.tool);
    this.#run.notice("breakers", "cave_tool_call_loop_nudge", "The model was told that its tool calls repeat.");
  }
  #trip(tool: string, cycle: Cycle): void {
    this.#record("loop_detected", cycle.signature, cycle.times, tool);
    this.#stop("loop_detected", "cave_tool_call_loop_detected", "Tool calls went on repeating after a warning.");
  }
  #stop(stop: StopReason, code: string, message: string): void {
    this.#stopped = { code, message, stop };
    this.#run.stop(stop);
  }
  #record(
    kind: "loop_detected" | "no_progress" | "fan_out_blocked",
    signature: string,
    count: number,
    name?: string,
  ): void {
    // A name that nobody declared is the model's own words.
    const tool = name === undefined ? undefined : this.#run.tools.has(name) ? name : "undeclared";
    this.#run.record("breaker.tripped", { kind, signature, count, ...(tool ? { tool } : {}) });
  }

  toJSON(): Static<typeof SavedWatch> {
    return {
      turn: this.#turn,
      entries: this.#repeats.entries.map((entry) => entry.toJSON()),
      progress: this.#progress.toJSON(),
    };
  }
}

const isPart = (slot: Slot): slot is Slot & Part => slot.result !== undefined;

const deny = (code: string, message: string): Denial => ({ deny: { code, message } });

const repeated = ({ period, times }: Cycle): string =>
  `${period === 1 ? "This call was" : `These ${period} calls were`} made ${times} times with the same arguments and the same results. Repeating ${period === 1 ? "it" : "them"} once more ends the run: change the arguments, use another tool, or answer with what is known.`;

function withText(output: ToolOutput, text: string): ToolOutput {
  if (output.type === "content") return { ...output, value: [...output.value, { type: "text", text }] };
  return {
    type: output.type === "error-text" || output.type === "error-json" ? "error-text" : "text",
    value: `${textOf(output)}\n\n${text}`,
  };
}
