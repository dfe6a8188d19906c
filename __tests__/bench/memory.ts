/** How long a recall takes over many records, for rare words, common ones, and questions of people. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryEngine, sqliteMemoryStorage } from "../../plugins/memory/index.ts";

interface RecallSpeed {
  readonly queries: "rare words" | "common words" | "questions";
  readonly records: number;
  readonly medianMs: number;
  readonly p95Ms: number;
  /** The same in processor time, which a busy machine changes less. */
  readonly p95CpuMs: number;
  /** Share of the queries that recalled something. */
  readonly answered: number;
}

const COMMON =
  "server report customer meeting invoice deploy team request update release project service order payment account review branch backup ticket office";
const WORDS = [...COMMON.split(" "), ...Array.from({ length: 20_000 }, (_, at) => wordOf(at))];

/** A word that can be spoken, another one for every number. */
function wordOf(number: number): string {
  const syllables = ["ba", "ko", "ri", "tu", "le", "ma", "no", "si", "va", "du", "pe", "zo"];
  let word = "";
  for (let left = number + 12; left > 0; left = Math.floor(left / syllables.length))
    word += syllables[left % syllables.length];
  return `${word}n`;
}

/** Records as people write them: a few words are in many of them, most words in few (Zipf). */
function corpus(records: number): readonly string[] {
  let state = 11;
  const random = (): number => (state = (state * 1_103_515_245 + 12_345) & 0x7fffffff) / 0x7fffffff;
  const word = (): string => WORDS[Math.floor(WORDS.length ** random()) - 1] ?? "server";
  return Array.from({ length: records }, (_, at) => {
    const words = Array.from({ length: 10 + Math.floor(random() * 20) }, word);
    return `${words.join(" ")} number ${at}`;
  });
}

/** Fills a memory and asks it. The budget and the limit are the defaults of a recall. */
export async function recallSpeeds(records = 100_000, asks = 300): Promise<RecallSpeed[]> {
  const folder = mkdtempSync(join(tmpdir(), "caveman-recall-"));
  const storage = sqliteMemoryStorage(join(folder, "memory.db"));
  try {
    const texts = corpus(records);
    for (let at = 0; at < texts.length; at += 5_000)
      await storage.add(
        texts.slice(at, at + 5_000).map((text, index) => ({ text, at: 1_750_000_000_000 + at + index })),
      );
    const engine = createMemoryEngine({ scope: { agentId: "bench", namespace: "bench" }, storage, ttlMs: null });
    const common = COMMON.split(" ");
    const pick = (at: number, step: number): string => common[(at * step) % common.length] ?? "";
    const rare = (at: number): string => (texts[(at * 7919) % texts.length] ?? "").split(" ").slice(3, 7).join(" ");
    const makers: Record<RecallSpeed["queries"], (at: number) => string> = {
      "rare words": (at) => rare(at),
      "common words": (at) => Array.from({ length: 2 + (at % 5) }, (_, n) => pick(at + n, 7 + n)).join(" "),
      questions: (at) =>
        `what did we say about the ${pick(at, 3)} and ${rare(at).split(" ").slice(0, 2).join(" or ")}?`,
    };
    const speeds: RecallSpeed[] = [];
    for (const [queries, make] of Object.entries(makers)) {
      const times: number[] = [];
      const cpu: number[] = [];
      let answered = 0;
      for (let at = -20; at < asks; at++) {
        const query = make(Math.abs(at));
        const started = performance.now();
        const used = process.threadCpuUsage();
        const { hits } = await engine.search(query);
        if (at < 0) continue;
        times.push(performance.now() - started);
        const { user, system } = process.threadCpuUsage(used);
        cpu.push((user + system) / 1_000);
        if (hits.length > 0) answered++;
      }
      speeds.push({
        queries: queries as RecallSpeed["queries"],
        records,
        medianMs: quantile(times, 0.5),
        p95Ms: quantile(times, 0.95),
        p95CpuMs: quantile(cpu, 0.95),
        answered: answered / asks,
      });
    }
    await engine.close();
    return speeds;
  } finally {
    await storage.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}

if (process.argv[1] === import.meta.filename)
  for (const { queries, records, medianMs, p95Ms, p95CpuMs, answered } of await recallSpeeds())
    console.log(
      `${queries.padEnd(14)} ${records} records  median ${medianMs.toFixed(1).padStart(6)} ms  p95 ${p95Ms.toFixed(1).padStart(6)} ms (processor ${p95CpuMs.toFixed(1)})  answered ${(answered * 100).toFixed(0)} %`,
    );
