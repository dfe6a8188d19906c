/**
 * `node __tests__/bench/compression.ts`: megabytes a second of one core: detection, and of whole compression with exact counts before
 * and after, by kind of input. Bars: 25 MB/s for detection on logs, JSON, code, prose and YAML; a median of 5 MB/s for whole
 * compression over logs, terminal output, JSON, search results and text.
 */
import { builtinRegistry } from "../../plugins/compression/builtin.ts";
import { detect } from "../../plugins/compression/detect.ts";
import { createEngine } from "../../plugins/compression/engine.ts";
import { o200kTokenizer } from "../../plugins/tokens/index.ts";
import { median } from "./median.ts";
import { type PayloadName, payload } from "./payloads.ts";

export const DETECTION_BAR = 25;
export const COMPRESSION_BAR = 5;
const DETECTED: readonly PayloadName[] = ["log", "json", "code", "prose", "yaml"];
const COMPRESSED: readonly PayloadName[] = ["log", "terminal", "json", "search", "text"];

interface Speed {
  readonly name: string;
  /** 1e6 UTF-8 bytes a second of processor time, the median of the rounds. */
  readonly megabytes: number;
  /** Share of the tokens that is gone. */
  readonly ratio?: number;
}

/** Processor time of the whole process in milliseconds, collection of garbage included: other work on the machine does not count. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e3;
}

async function speed(bytes: number, rounds: number, work: () => unknown): Promise<number> {
  const values: number[] = [];
  for (let round = -3; round < rounds; round++) {
    const started = processorMs();
    // Several times, since processor time is counted in coarse steps.
    let times = 0;
    do {
      await work();
      times++;
    } while (processorMs() - started < 40);
    if (round >= 0) values.push((times * bytes) / 1e3 / (processorMs() - started));
  }
  return median(values);
}

export async function detection(rounds = 9): Promise<Speed[]> {
  const rows: Speed[] = [];
  for (const name of DETECTED) {
    const text = payload(name);
    rows.push({ name, megabytes: await speed(Buffer.byteLength(text), rounds, () => detect(text)) });
  }
  return rows;
}

export async function compression(rounds = 7): Promise<{ rows: Speed[]; median: number }> {
  const engine = createEngine(builtinRegistry(), (text) => o200kTokenizer().count(text));
  const keep = (): string => `ccr_${"0".repeat(32)}`;
  const rows: Speed[] = [];
  for (const name of COMPRESSED) {
    const text = payload(name);
    let ratio = 0;
    const megabytes = await speed(Buffer.byteLength(text), rounds, async () => {
      ({ ratio } = (await engine.compress(text, { keep, point: true })).report);
    });
    rows.push({ name, megabytes, ratio });
  }
  return { rows, median: median(rows.map(({ megabytes }) => megabytes)) };
}

if (import.meta.main) {
  for (const { name, megabytes } of await detection())
    console.log(`detection    ${name.padEnd(12)} ${megabytes.toFixed(0).padStart(8)} MB/s  (>= ${DETECTION_BAR})`);
  const { rows, median: middle } = await compression();
  for (const { name, megabytes, ratio = 0 } of rows)
    console.log(
      `compression  ${name.padEnd(12)} ${megabytes.toFixed(1).padStart(8)} MB/s  ${(ratio * 100).toFixed(1)} % less`,
    );
  console.log(`compression  ${"median".padEnd(12)} ${middle.toFixed(1).padStart(8)} MB/s  (>= ${COMPRESSION_BAR})`);
}
