/** Scripted runs with a known verdict: what a model asks for, turn by turn, and what its tools answer. */
import { agent, createKernel, type Run, type StopReason, schema, tool } from "../../../kernel/index.ts";
import { breakers } from "../../../plugins/breakers/index.ts";
import { scripted } from "../../../plugins/providers/scripted/index.ts";
import { models, seededClock } from "../../support/harness.ts";

/** One tool call: which tool, its argument, and what it gives; an `Error` is thrown. */
export interface Step {
  readonly tool: "look" | "poll" | "act";
  readonly q: string;
  readonly gives: string | Error;
}
export interface World {
  readonly kind: string;
  readonly name: string;
  readonly turns: readonly (readonly Step[])[];
  readonly stops: StopReason;
}

const kernel = createKernel({ plugins: [models, breakers()], clock: seededClock() });

/** Plays a world; the model answers when its turns are used up. */
export async function play({
  turns,
}: World): Promise<{ run: Run; stopReason: StopReason; executed: number; prompts: string }> {
  const gives = turns.flat();
  const byId = new Map<string, Step>(
    turns.flatMap((turn, t) => turn.map((step, i) => [`call_${t}_${i}`, step] as const)),
  );
  let executed = 0;
  const make = (name: Step["tool"], effect: "read" | "write", allowRepeat = false) =>
    tool({
      name,
      description: name,
      input: schema.object({ q: schema.string() }),
      effect,
      allowRepeat,
      execute: (_input, { toolCallId }) => {
        executed++;
        const given = byId.get(toolCallId)?.gives;
        if (given instanceof Error) throw given;
        return given;
      },
    });
  const model = scripted((_request, index) => {
    const turn = turns[index];
    return turn
      ? {
          text: `step ${index}`,
          toolCalls: turn.map(({ tool: name, q }, at) => ({ id: `call_${index}_${at}`, name, input: { q } })),
        }
      : { text: "done" };
  });
  const { run, done } = kernel.start(
    agent({
      id: "a",
      instructions: "i",
      model,
      tools: [make("look", "read"), make("poll", "read", true), make("act", "write")],
    }),
    "go",
  );
  const { stopReason } = await done;
  return {
    run,
    stopReason,
    executed: gives.length === 0 ? 0 : executed,
    prompts: JSON.stringify(run.transcript.history.map(({ value }) => value)),
  };
}

const look = (q: string, gives: string | Error = `about ${q}`): Step => ({ tool: "look", q, gives });
const act = (q: string, gives: string | Error = "ok"): Step => ({ tool: "act", q, gives });
const each = (steps: readonly Step[]): Step[][] => steps.map((step) => [step]);
const times = <T>(n: number, make: (n: number) => T): T[] => Array.from({ length: n }, (_, i) => make(i));

/** 268 worlds: 130 loops, 138 of honest work. */
export function worlds(): World[] {
  const all: World[] = [];
  const add = (kind: string, stops: StopReason, turns: readonly (readonly Step[])[]): void =>
    void all.push({ kind, stops, turns, name: `${kind} ${all.length}` });
  for (let v = 0; v < 10; v++) {
    const before = each(times(v, (i) => look(`prelude ${v}.${i}`)));
    for (const period of [1, 2, 3, 4]) {
      // four rounds: the third is warned of, the fourth stops
      add(`loop of ${period}`, "loop_detected", [
        ...before,
        ...each(times(4 * period + 1, (i) => look(`${v}.${i % period}`))),
      ]);
      // the same calls two to a turn
      const flat = times(4 * period + 2, (i) => look(`${v}.${i % period}`));
      add(`loop of ${period}, two a turn`, "loop_detected", [
        ...before,
        ...times(flat.length / 2, (i) => flat.slice(2 * i, 2 * i + 2)),
      ]);
      add(`cycle of ${period} whose results change`, "complete", [
        ...before,
        ...each(times(6 * period, (i) => look(`${v}.${i % period}`, `${i % period === 0 ? i : "same"}`))),
      ]);
      // three rounds and no more: warned, never stopped
      if (v < 6)
        add(`three rounds of ${period}, then other work`, "complete", [
          ...before,
          ...each([...times(3 * period, (i) => look(`${v}.${i % period}`)), ...times(5, (i) => look(`other ${i}`))]),
        ]);
    }
    add("poll that never changes", "loop_detected", [...before, ...each(times(6, () => look("status", "pending")))]);
    add("writes repeated", "loop_detected", [...before, ...each(times(5, () => act(`same ${v}`)))]);
    // the first failure is pardoned, so the fifth try stops
    add("failing repeats", "loop_detected", [...before, ...each(times(5, () => look("x", new Error("boom"))))]);
    add("read and write in turns", "loop_detected", [
      ...before,
      ...each(times(9, (i) => (i % 2 ? act("on") : look("light", "off")))),
    ]);
    add("a failing call in a cycle", "loop_detected", [
      ...before,
      ...each(times(11, (i) => (i % 2 ? look("x", new Error("boom")) : look("plan")))),
    ]);
    add("poll that changes", "complete", [...before, ...each(times(20, (i) => look("status", `${i * 5} %`)))]);
    add("poll that changes now and then", "complete", [
      ...before,
      ...each(times(18, (i) => look("status", `phase ${Math.floor(i / 3)}`))),
    ]);
    add("poll that may repeat", "complete", [
      ...before,
      ...each(times(20, () => ({ tool: "poll", q: "status", gives: "pending" }))),
    ]);
    add("edit and test", "complete", [
      ...before,
      ...each(times(24, (i) => (i % 2 ? look("test", "1 failed") : act(`edit ${i}`)))),
    ]);
    add("reading a long list", "complete", [...before, ...each(times(20, (i) => look(`page ${i}`)))]);
    add("a failure, then a success", "complete", [
      ...before,
      ...each(times(12, (i) => look(`${Math.floor(i / 2)}`, i % 2 ? "ok" : new Error("busy")))),
    ]);
    add("looking again after work", "complete", [
      ...before,
      ...each(times(16, (i) => (i % 4 === 0 ? look("git status", "dirty") : look(`file ${v} ${i}`)))),
    ]);
    if (v < 4)
      add("failing thrice, then other work", "complete", [
        ...before,
        ...each([...times(3, () => look("x", new Error("boom"))), ...times(6, (i) => look(`other ${i}`))]),
      ]);
  }
  return all;
}

interface Verdicts {
  readonly kind: string;
  readonly runs: number;
  readonly misses: number;
  readonly falseStops: number;
}

/** Plays every world and counts by kind. */
export async function classify(list: readonly World[]): Promise<Verdicts[]> {
  const rows = new Map<string, { kind: string; runs: number; misses: number; falseStops: number }>();
  for (const world of list) {
    const row = rows.get(world.kind) ?? { kind: world.kind, runs: 0, misses: 0, falseStops: 0 };
    rows.set(world.kind, row);
    const { stopReason } = await play(world);
    row.runs++;
    if (stopReason !== world.stops) row[world.stops === "complete" ? "falseStops" : "misses"]++;
  }
  return [...rows.values()];
}
