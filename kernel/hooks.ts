/**
 * The six hook points: one tapable hook each, named taps, fixed stages, and one failure policy a hook. Plugins get a
 * façade with `tap` alone; every tap is wrapped once, here, with its policy, its time limit and its time account.
 */
import { AsyncSeriesBailHook, AsyncSeriesHook, AsyncSeriesWaterfallHook } from "tapable";
import type { Compaction, Denial, FrozenCall, ModelCall, Refusal, Replay, SettledCall, Settlement, ToolCall } from "./contract.ts";
import { asCaveman, CavemanError, nearest } from "./errors.ts";
import { inOrder } from "./order.ts";
import { abortable, race } from "./race.ts";
import type { Rewrite } from "./transcript.ts";

export const STAGES = {
  compact: ["rewrite"],
  beforeCall: ["resolve", "shape", "guard"],
  reserve: ["replay", "check", "hold", "intent"],
  afterUsage: ["settle", "price", "count", "decide"],
  admitTool: ["replay", "count", "hold", "policy", "place"],
  settle: ["work", "receipt"],
} as const;

export type HookName = keyof typeof STAGES;
export type Stage<H extends HookName> = (typeof STAGES)[H][number];
export const HOOKS = Object.keys(STAGES) as HookName[];

interface Payloads { compact: Compaction; beforeCall: ModelCall; reserve: FrozenCall; afterUsage: SettledCall; admitTool: ToolCall; settle: Settlement }
interface Answers { compact: Rewrite | undefined; beforeCall: void; reserve: Refusal | Replay | undefined; afterUsage: void; admitTool: Denial | undefined; settle: void }
type Answer<H extends HookName> = Answers[H] | void;

export interface TapOptions<H extends HookName> {
  /** `plugin` or `plugin:part`. */
  name: string;
  /** Default: the hook's first stage. */
  stage?: Stage<H>;
  before?: string | readonly string[];
  after?: string | readonly string[];
  /** A guard's failure ends the run instead of being noted. */
  guard?: boolean;
  /** Milliseconds the tap may take; default 60,000. `Infinity` for a tap that waits for a person. */
  timeoutMs?: number;
}
export type TapFn<H extends HookName> = (payload: Payloads[H], signal: AbortSignal) => Answer<H> | Promise<Answer<H>>;
/** What a plugin sees of a hook. */
export interface HookFacade<H extends HookName> { tap(options: string | TapOptions<H>, fn: TapFn<H>): void }
export type HookFacades = { readonly [H in HookName]: HookFacade<H> };

export interface TapInfo { readonly hook: HookName; readonly name: string; readonly plugin: string; readonly stage: string; readonly guard: boolean; /** Milliseconds since assembly, from samples where a tap answers at once. */ totalMs: number; calls: number; failures: number }

interface Tap<H extends HookName = HookName> { readonly options: Required<Pick<TapOptions<H>, "name" | "guard" | "timeoutMs">> & { before: readonly string[]; after: readonly string[]; stage: string }; readonly fn: TapFn<H>; readonly info: TapInfo; readonly seq: number }

/** Told of a tap's failure before its policy applies. */
export type OnFailure = (hook: HookName, tap: TapInfo, error: CavemanError, payload: unknown) => void;
type Compiled = { [H in HookName]: { promise(payload: Payloads[H]): unknown } };

const TAP_KEYS = ["name", "stage", "before", "after", "guard", "timeoutMs"];
const list = (value: string | readonly string[] | undefined): readonly string[] => (value === undefined ? [] : Array.isArray(value) ? value : [value as string]);
export const DEFAULT_TAP_TIMEOUT_MS = 60_000;

/** Gathers taps, orders them, compiles the six hooks. */
export class HookSet {
  readonly #taps: { [H in HookName]: Tap<H>[] } = { compact: [], beforeCall: [], reserve: [], afterUsage: [], admitTool: [], settle: [] };
  readonly #onFailure: OnFailure; readonly #timeoutMs: number; #frozen = false; readonly #hooks: Partial<Compiled> = {};

  constructor(onFailure: OnFailure, timeoutMs = DEFAULT_TAP_TIMEOUT_MS) {
    this.#onFailure = onFailure; this.#timeoutMs = timeoutMs;
  }

  facade(plugin: string): HookFacades {
    const entries = HOOKS.map((hook) => [hook, Object.freeze({ tap: (options: string | TapOptions<HookName>, fn: TapFn<HookName>) => this.#add(hook, plugin, typeof options === "string" ? { name: options } : options, fn) })]);
    return Object.freeze(Object.fromEntries(entries)) as HookFacades;
  }

  #add(hook: HookName, plugin: string, options: TapOptions<HookName>, fn: TapFn<HookName>): void {
    if (this.#frozen) throw new CavemanError("cave_kernel_frozen", { place: `${plugin} on ${hook}` });
    const odd = typeof options !== "object" || options === null ? typeof options : Object.keys(options).find((key) => !TAP_KEYS.includes(key));
    if (odd !== undefined) throw new CavemanError("cave_plugin_invalid", { place: `${plugin} on ${hook}`, expected: `a name or { ${TAP_KEYS.join(", ")} }`, received: odd });
    const { name, guard = false, timeoutMs = this.#timeoutMs } = options;
    const stages: readonly string[] = STAGES[hook];
    const stage = options.stage ?? stages[0] ?? "";
    const place = `${hook} tap ${JSON.stringify(name)}`;
    if (typeof name !== "string" || (name !== plugin && !name.startsWith(`${plugin}:`))) throw new CavemanError("cave_plugin_invalid", { place, expected: `a name "${plugin}" or "${plugin}:part"`, received: String(name) });
    if (!stages.includes(stage)) throw new CavemanError("cave_plugin_order", { place, expected: stages.join(", "), received: stage });
    if (typeof timeoutMs !== "number" || !(timeoutMs > 0)) throw new CavemanError("cave_plugin_invalid", { place, expected: "timeoutMs above 0", received: String(timeoutMs) });
    if (![...list(options.before), ...list(options.after)].every((other) => typeof other === "string")) throw new CavemanError("cave_plugin_order", { place, expected: "names of taps in before and after", received: "something else" });
    if (typeof fn !== "function") throw new CavemanError("cave_plugin_invalid", { place, expected: "a function", received: typeof fn });
    if (this.#taps[hook].some((tap) => tap.options.name === name)) throw new CavemanError("cave_plugin_order", { place, expected: "one tap of this name on the hook", received: "two" });
    const info: TapInfo = { hook, name, plugin, stage, guard, totalMs: 0, calls: 0, failures: 0 };
    const tap = { options: { name, guard, timeoutMs, stage, before: list(options.before), after: list(options.after) }, fn, info, seq: this.#taps[hook].length };
    (this.#taps[hook] as Tap[]).push(tap as Tap);
  }

  /** Orders and compiles. After this no tap can be added. */
  freeze(): void {
    this.#frozen = true;
    for (const hook of HOOKS) (this.#taps as Record<HookName, Tap[]>)[hook] = order(hook, this.#taps[hook] as Tap[]);
    const hooks = {
      compact: new AsyncSeriesWaterfallHook<[unknown]>(["payload"]),
      beforeCall: new AsyncSeriesHook<[unknown]>(["payload"]),
      reserve: new AsyncSeriesBailHook<[unknown], unknown>(["payload"]),
      afterUsage: new AsyncSeriesHook<[unknown]>(["payload"]),
      admitTool: new AsyncSeriesBailHook<[unknown], unknown>(["payload"]),
      settle: new AsyncSeriesHook<[unknown]>(["payload"]),
    };
    for (const hook of HOOKS) {
      Object.assign(hooks[hook], { compile: () => this.#compile(hook) });
      for (const tap of this.#taps[hook]) hooks[hook].tapPromise(tap.options.name, tap.fn as never);
      if (this.has(hook)) (this.#hooks as Record<HookName, unknown>)[hook] = hooks[hook];
    }
  }

  /** Every tap in the order it runs. */
  get taps(): readonly TapInfo[] { return HOOKS.flatMap((hook) => this.#taps[hook].map((tap) => tap.info)); }
  has(hook: HookName): boolean { return this.#taps[hook].length > 0; }

  /** Fires a hook. Answers at once when no tap waited, so that a run of synchronous taps costs no turn of the event loop. */
  fire<H extends HookName>(hook: H, payload: Payloads[H]): Answers[H] | undefined | Promise<Answers[H] | undefined> {
    return this.#hooks[hook]?.promise(payload) as Answers[H] | undefined;
  }

  /**
   * How a hook's taps become one function, in place of the code tapable would write: the first answer ends the series (only
   * bail hooks have answers), and as long as taps answer at once so does the hook. Nothing is evaluated from a string.
   */
  #compile(hook: HookName): (payload: Payloads[HookName]) => unknown {
    const taps = this.#taps[hook] as Tap[];
    const { before: keep } = POLICIES[hook];
    let fired = 0;
    const from = (start: number, weight: number, payload: Payloads[HookName]): unknown => {
      let lap = weight > 0 ? performance.now() : 0;
      for (let at = start; at < taps.length; at++) {
        const tap = taps[at] as Tap;
        const before = keep?.(payload);
        let answer: unknown, failed: unknown, waits = false;
        try {
          answer = tap.fn(payload as never, payload.signal);
          if (answer !== undefined) waits = isThenable(answer);
        } catch (error) {
          failed = error ?? nothingThrown();
        }
        if (waits) answer = this.#await(tap, payload, before, answer as PromiseLike<unknown>);
        else if (failed !== undefined || answer !== undefined) answer = this.#conclude(tap, payload, before, failed, answer);
        tap.info.calls++;
        if (weight > 0) {
          const now = performance.now();
          tap.info.totalMs += (now - lap) * weight;
          lap = now;
        }
        if (answer instanceof Promise) return resumed(answer, at + 1, weight, payload);
        if (answer !== undefined) return answer;
      }
      return undefined;
    };
    // Outside of the loop: a closure in it would make each of its rounds keep its variables on the heap.
    const resumed = (answer: Promise<unknown>, next: number, weight: number, payload: Payloads[HookName]): Promise<unknown> => answer.then((value) => (value === undefined ? from(next, weight, payload) : value));
    // Reading the clock costs as much as most taps: after the first firings, one in sixty-four is timed and counts for all.
    return (payload) => from(0, ++fired <= TIMED_ALL ? 1 : fired % TIMED_OF === 0 ? TIMED_OF : 0, payload);
  }

  /** The end of a tap that waits, under its time limit. All of the waiting counts. */
  #await(tap: Tap, payload: Payloads[HookName], before: unknown, answer: PromiseLike<unknown>): Promise<unknown> {
    const { timeoutMs, name } = tap.options;
    const started = performance.now();
    const late = (): CavemanError => new CavemanError("cave_plugin_failed", { place: `${name} on ${tap.info.hook}`, expected: `an answer within ${timeoutMs} ms`, received: "none" });
    const end = (error: unknown, value: unknown): unknown => {
      tap.info.totalMs += performance.now() - started;
      return this.#conclude(tap, payload, before, error, value);
    };
    return race(answer, abortable(payload.signal), timeoutMs, late).then((value) => end(undefined, value), (error: unknown) => end(error ?? nothingThrown(), undefined));
  }

  /** Applies a hook's policy to what a tap answered. */
  #conclude({ info }: Tap, payload: Payloads[HookName], before: unknown, error: unknown, answer: unknown): unknown {
    const { hook } = info;
    const policy = POLICIES[hook];
    try {
      const problem = error ?? policy.problem?.(answer, payload);
      if (problem === undefined) return policy.pass ? policy.pass(answer, payload) : answer;
      info.failures++;
      const coded = asCaveman(problem, "cave_plugin_failed", { place: `${info.name} on ${hook}` });
      this.#onFailure(hook, info, coded, payload);
      policy.restore?.(payload, before);
      return (info.guard && policy.guard ? policy.guard : policy.fail)(coded, payload);
    } catch (fault) {
      throw asCaveman(fault, "cave_plugin_failed", { place: `${info.name} on ${hook}` });
    }
  }
}

const [TIMED_ALL, TIMED_OF] = [64, 64];
const nothingThrown = (): CavemanError => new CavemanError("cave_plugin_failed", { received: "a thrown nothing" });
export const isThenable = (value: unknown): value is PromiseLike<unknown> => typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";

interface Policy {
  before?(payload: Payloads[HookName]): unknown;
  problem?(answer: unknown, payload: Payloads[HookName]): unknown;
  pass?(answer: unknown, payload: Payloads[HookName]): unknown;
  restore?(payload: Payloads[HookName], before: unknown): void;
  guard?(error: CavemanError, payload: Payloads[HookName]): unknown;
  fail(error: CavemanError, payload: Payloads[HookName]): unknown;
}

/** A view under compaction. Kernel-internal. */
interface Rewritable { problem(rewrite: Rewrite): CavemanError | undefined; take(rewrite: Rewrite): void }
/** Payloads that can be put back to what they were before a failing tap, or fail their run. Kernel-internal. */
export interface Restorable { snapshot(): unknown; restore(snapshot: unknown): void }
const fails = (error: CavemanError, payload: { run: { stop(reason: "error", error: CavemanError): void } }): undefined => void payload.run.stop("error", error);
const unreadable = (what: string): CavemanError => new CavemanError("cave_plugin_failed", { expected: what, received: "an answer that cannot be read" });
const record = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

const POLICIES: Record<HookName, Policy> = {
  compact: {
    problem: (answer, payload) => (answer === undefined ? undefined : record(answer) && record(answer.view) && typeof answer.by === "string" ? (payload as unknown as Rewritable).problem(answer as unknown as Rewrite) : unreadable("a rewrite of the view, or nothing")),
    pass: (answer, payload) => (answer === undefined ? undefined : void (payload as unknown as Rewritable).take(answer as Rewrite)),
    fail: () => undefined,
  },
  beforeCall: {
    before: (payload) => (payload as unknown as Restorable).snapshot(),
    restore: (payload, before) => (payload as unknown as Restorable).restore(before),
    guard: fails, fail: () => undefined,
    pass: () => undefined,
  },
  reserve: {
    problem: (answer) => (answer === undefined || isRefusal(answer) || isReplay(answer) ? undefined : unreadable("nothing, { refuse } or { replay }")),
    fail: (error): Refusal => ({ refuse: { code: error.code, message: error.message } }),
  },
  afterUsage: { guard: fails, fail: () => undefined, pass: () => undefined },
  admitTool: {
    problem: (answer) => (answer === undefined || isDenial(answer) ? undefined : unreadable("nothing or { deny }")),
    fail: (error): Denial => ({ deny: { code: "cave_plugin_failed", message: error.message } }),
  },
  settle: {
    guard: (error, payload) => void (payload as unknown as { fail(error: CavemanError): void }).fail(error),
    fail: () => undefined, pass: () => undefined,
  },
};

const coded = (value: unknown): boolean => record(value) && typeof value.code === "string" && typeof value.message === "string";
export const isRefusal = (answer: unknown): answer is Refusal => record(answer) && coded(answer.refuse);
export const isReplay = (answer: unknown): answer is Replay => record(answer) && record(answer.replay) && Array.isArray(answer.replay.content) && record(answer.replay.usage);
export const isDenial = (answer: unknown): answer is Denial => record(answer) && coded(answer.deny);

/** Orders taps by stage, then by before/after, then by registration. */
function order(hook: HookName, taps: Tap[]): Tap[] {
  const stages: readonly string[] = STAGES[hook];
  const names = new Map(taps.map((tap) => [tap.options.name, tap]));
  const after = new Map<Tap, Set<Tap>>(taps.map((tap) => [tap, new Set()]));
  const find = (tap: Tap, name: string): Tap => {
    const other = names.get(name);
    if (!other) {
      const meant = nearest(name, names.keys());
      throw new CavemanError("cave_plugin_order", { place: `${hook} tap "${tap.options.name}"`, expected: "the name of another tap on this hook", received: `"${name}"${meant ? `, did you mean "${meant}"?` : ""}` });
    }
    return other;
  };
  for (const tap of taps) {
    for (const name of tap.options.after) after.get(tap)?.add(find(tap, name));
    for (const name of tap.options.before) after.get(find(tap, name))?.add(tap);
  }
  for (const [tap, others] of after) for (const other of others) {
    if (stages.indexOf(other.options.stage) > stages.indexOf(tap.options.stage)) throw new CavemanError("cave_plugin_order", { place: `${hook}`, expected: "an order that the stages allow", received: `"${tap.options.name}" (${tap.options.stage}) after "${other.options.name}" (${other.options.stage})` });
  }
  const rank = (tap: Tap): number => stages.indexOf(tap.options.stage) * 1e6 + tap.seq;
  const circle = (left: readonly Tap[]): CavemanError => new CavemanError("cave_plugin_order", { place: hook, expected: "no circle of before/after", received: left.map((tap) => tap.options.name).join(" → ") });
  return inOrder([...taps].sort((a, b) => rank(a) - rank(b)), after, circle);
}
