/** Measuring: medians, workers in processes of their own, rounds that alternate, and whole commands. */
import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import type { Target } from "./drivers.ts";
import { median } from "./median.ts";
import type { Shape } from "./shape.ts";
import type { Reply, Round } from "./worker.ts";

/** A runtime in a process of its own, for as long as it is measured. */
export class Worker implements Disposable {
  readonly #child: ChildProcess;
  readonly #target: Target;
  readonly #ready: Promise<unknown>;

  constructor(target: Target) {
    this.#target = target;
    this.#child = fork(new URL("./worker.ts", import.meta.url), [target], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.#ready = this.#reply();
    this.#ready.catch(() => undefined);
  }
  /** Milliseconds of one model call. @throws Error when a run failed or the process ended. */
  async perCall(round: Round): Promise<number> {
    await this.#ready;
    this.#child.send(round);
    return (await this.#reply()).perCallMs;
  }
  async #reply(): Promise<{ readonly perCallMs: number }> {
    const reply = await new Promise<Reply>((resolve, reject) => {
      const gone = (code: number | null): void => reject(new Error(`${this.#target}: its process ended with ${code}`));
      this.#child.once("exit", gone);
      this.#child.once("message", (message) => {
        this.#child.off("exit", gone);
        resolve(message as Reply);
      });
    });
    if ("error" in reply) throw new Error(`${this.#target}: ${reply.error}`);
    return reply;
  }
  [Symbol.dispose](): void {
    this.#child.kill();
  }
}

interface Side extends Shape {
  readonly target: Target;
}
interface Versus {
  /** Milliseconds of one model call, the median of the rounds. */
  readonly a: number;
  readonly b: number;
  /** a ÷ b, round by round, and of those the median. */
  readonly ratio: number;
}

/** Fresh processes a comparison is made with: where the memory of one lies can make it half as fast again as the next. */
const PAIRS = 3;

/** Measures two in turns, A B then B A, so that a busy moment of the machine touches both, in several pairs of processes. */
export async function versus(a: Side, b: Side, rounds: number, ms: number): Promise<Versus> {
  const pairs: [number, number][] = [];
  for (let pair = 0; pair < PAIRS; pair++) pairs.push(...(await inTurns(a, b, rounds, ms)));
  return {
    a: median(pairs.map(([one]) => one)),
    b: median(pairs.map(([, other]) => other)),
    ratio: median(pairs.map(([one, other]) => one / other)),
  };
}

async function inTurns(a: Side, b: Side, rounds: number, ms: number): Promise<[number, number][]> {
  using first = new Worker(a.target);
  // Two shapes of one runtime are measured in one process, whose memory lies the same for both.
  using other = a.target === b.target ? undefined : new Worker(b.target);
  const second = other ?? first;
  const [roundA, roundB] = [a, b].map(({ calls, resultBytes }) => ({ calls, resultBytes, ms })) as [Round, Round];
  const pairs: [number, number][] = [];
  for (let round = 0; round < rounds; round++) {
    if (round % 2 === 0) {
      const one = await first.perCall(roundA);
      pairs.push([one, await second.perCall(roundB)]);
    } else {
      const two = await second.perCall(roundB);
      pairs.push([await first.perCall(roundA), two]);
    }
  }
  return pairs;
}

/** Milliseconds of one model call, the median of the rounds. */
export async function perCall(side: Side, rounds: number, ms: number): Promise<number> {
  using worker = new Worker(side.target);
  const values: number[] = [];
  for (let round = 0; round < rounds; round++)
    values.push(await worker.perCall({ calls: side.calls, resultBytes: side.resultBytes, ms }));
  return median(values);
}

/** Runs a command to its end and gives its output. @throws Error with what it wrote when it fails. */
export async function command(program: string, args: readonly string[], cwd: string): Promise<string> {
  const child = spawn(program, args, {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    shell: process.platform === "win32" && program === "npm",
  });
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk: Buffer) => {
    out += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    err += chunk.toString();
  });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${code}\n${err || out}`);
  return out;
}

/** Milliseconds a Node.js process takes from start to end, the median of several, after one that warms the disk. */
export async function processMs(args: readonly string[], cwd: string, times = 7): Promise<number> {
  const values: number[] = [];
  for (let time = -1; time < times; time++) {
    const started = performance.now();
    await command(process.execPath, args, cwd);
    if (time >= 0) values.push(performance.now() - started);
  }
  return median(values);
}
