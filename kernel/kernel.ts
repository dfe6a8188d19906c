/** createKernel: assemble, order, freeze. A frozen kernel starts runs and hands out what is loaded. */
import type { Clock, Outcome, Run, RunEvent, RunInput, RunOptions, Service } from "./contract.ts";
import { type AgentDefinition, isAgent } from "./definition.ts";
import { asCaveman, CavemanError } from "./errors.ts";
import { type HookName, HookSet, type OnFailure, type TapInfo } from "./hooks.ts";
import { drive } from "./loop.ts";
import { orderPlugins, type Plugin, type PluginFactory, type PluginKernel } from "./plugin.ts";
import { abortable, race } from "./race.ts";
import { type ConversationSlot, type Engine, RunImpl } from "./run.ts";

export interface KernelOptions {
  plugins: readonly (Plugin | PluginFactory)[];
  /** Time and chance; default: the machine's. */
  clock?: Clock;
  /** Milliseconds a tap may take unless it says otherwise; default 60,000. */
  tapTimeoutMs?: number;
  /** The hooks that the caller's own loop can drive, when it is not ours: a tap on any other could not be enforced. */
  drives?: readonly HookName[];
}

/** A run that was started: its live face, and the promise of its end. The promise never rejects. */
export interface Started { readonly run: Run; readonly done: Promise<Outcome> }

export interface Kernel {
  readonly plugins: readonly Plugin[];
  /** Every tap in the order it runs, with its time account. */
  readonly taps: readonly TapInfo[];
  /** Starts a run. @throws CavemanError at once for a wrong agent or option. */
  start(agent: AgentDefinition, input: RunInput, options?: RunOptions, onEvent?: (event: RunEvent) => void): Started;
  /** The events of a run. Returning early aborts and settles it; after `run_error` the iterator ends. */
  stream(agent: AgentDefinition, input: RunInput, options?: RunOptions, onStart?: (run: Run) => void): AsyncGenerator<RunEvent, Outcome>;
  /** A prepared run without the loop, for another framework's loop; end it with `close`. */
  open(agent: AgentDefinition, options?: RunOptions): Promise<{ readonly run: Run; close(end?: { text?: string; error?: unknown }): Promise<Outcome> }>;
}

export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  random: () => Math.random(),
  alarm(ms: number, ring: () => void): () => void {
    const timer = setTimeout(ring, ms);
    return () => clearTimeout(timer);
  },
  sleep(ms: number, signal: AbortSignal): Promise<void> {
    let forget: (() => void) | undefined;
    const slept = new Promise<void>((resolve) => void (forget = this.alarm?.(ms, resolve)));
    return race(slept, abortable(signal)).finally(forget);
  },
});

/** Names a typed service; a plugin provides it with `kernel.provide`. */
export const defineService = <T>(name: string): Service<T> => Object.freeze({ name });

/**
 * Assembles plugins into a kernel and freezes it.
 * @throws CavemanError `cave_plugin_*`, `cave_service_duplicate`: what is wrong, naming both sides.
 */
export function createKernel(options: KernelOptions): Kernel {
  const plugins = Object.freeze(orderPlugins(options.plugins));
  const clock = options.clock ?? systemClock;
  const onFailure: OnFailure = (hook, tap, error, payload) => (payload as { run?: Run }).run?.notice(tap.name, error.code, `${hook}: ${error.message}`);
  const hooks = new HookSet(onFailure, options.tapTimeoutMs);
  const perRun: ((run: Run) => unknown)[] = [];
  const perConversation: ConversationSlot[] = [];
  const services = new Map<string, (run: Run) => unknown>();
  let frozen = false;
  const assembling = (place: string): void => {
    if (frozen) throw new CavemanError("cave_kernel_frozen", { place });
  };
  for (const { name, spec, options: bound } of plugins) {
    const face: PluginKernel = Object.freeze({
      hooks: hooks.facade(name), clock, plugins,
      perRun<T>(init: (run: Run) => T): (run: Run) => T {
        assembling(name);
        const index = perRun.push(init) - 1;
        return (run: Run) => (run as RunImpl).states[index] as T;
      },
      perConversation<T extends { toJSON(): unknown }>(slot: string, schema: object, init: (run: Run, saved: unknown) => T): (run: Run) => T {
        assembling(name);
        if (perConversation.some((other) => other.name === slot)) throw new CavemanError("cave_plugin_duplicate", { place: name, received: `conversation state "${slot}"` });
        const index = perConversation.push({ name: slot, schema, init }) - 1;
        return (run: Run) => (run as RunImpl).conversationStates[index] as T;
      },
      provide<T>(service: Service<T>, make: (run: Run) => T): void {
        assembling(name);
        if (services.has(service.name)) throw new CavemanError("cave_service_duplicate", { place: name, received: service.name });
        services.set(service.name, make);
      },
    });
    try {
      spec.apply(face, bound as never);
    } catch (error) {
      throw asCaveman(error, "cave_plugin_failed", { place: `plugin ${name} apply` });
    }
  }
  hooks.freeze();
  frozen = true;
  const { drives } = options;
  const beyond = drives && hooks.taps.find((tap) => !drives.includes(tap.hook));
  if (beyond) throw new CavemanError("cave_adapter_cannot_enforce", { place: `plugin ${beyond.plugin}`, expected: `taps on ${drives.join(", ")} alone`, received: `"${beyond.name}" on ${beyond.hook}` });
  const engine: Engine = Object.freeze({ plugins, preparing: plugins.filter(({ spec }) => spec.prepare), equipping: plugins.filter(({ spec }) => spec.tools ?? spec.contexts), hooks, clock, perRun, perConversation, services, drive });

  const create = (agent: AgentDefinition, runOptions: RunOptions, onEvent?: (event: RunEvent) => void): RunImpl => {
    if (!isAgent(agent)) throw new CavemanError("cave_agent_definition_invalid", { place: "run()", expected: "an agent built by agent()", received: typeof agent });
    return new RunImpl(engine, agent, runOptions, undefined, undefined, onEvent);
  };
  return Object.freeze({
    plugins,
    get taps() { return hooks.taps; },
    start(agent: AgentDefinition, input: RunInput, runOptions: RunOptions = {}, onEvent?: (event: RunEvent) => void): Started {
      const run = create(agent, runOptions, onEvent);
      return { run, done: drive(run, input) };
    },
    async *stream(agent: AgentDefinition, input: RunInput, runOptions: RunOptions = {}, onStart?: (run: Run) => void): AsyncGenerator<RunEvent, Outcome> {
      const queue: RunEvent[] = [];
      let wake: (() => void) | undefined;
      const run = create(agent, runOptions, (event) => {
        queue.push(event);
        wake?.();
      });
      onStart?.(run);
      let over = false;
      const done = drive(run, input).finally(() => {
        over = true;
        wake?.();
      });
      let read = false;
      try {
        for (;;) {
          const event = queue.shift();
          if (event) yield event;
          else if (over) break;
          else await new Promise<void>((resolve) => (wake = resolve));
        }
        read = true;
        return await done;
      } finally {
        if (!read) {
          run.abort(new CavemanError("cave_stream_cancelled"));
          await done;
        }
      }
    },
    async open(agent: AgentDefinition, runOptions: RunOptions = {}) {
      const run = create(agent, runOptions);
      try {
        await run.prepare();
      } catch (error) {
        await run.settle({ text: "", error });
        throw error;
      }
      return { run, close: (end: { text?: string; error?: unknown } = {}) => run.settle({ text: end.text ?? "", ...(end.error === undefined ? {} : { error: end.error }) }) };
    },
  });
}
