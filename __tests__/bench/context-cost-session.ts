/**
 * A coding session, scripted: fifty calls of tools whose results look like what coding tools return, each with one fact
 * planted in it, on a line that stands out or on one like any other, then ten questions about some of them. The model answers from what it can read; where the
 * view shows a handle it fetches the original back; where there is neither it calls the tool again.
 */
import { type CallOptions, schema, type Tool, textOf, tool } from "../../kernel/index.ts";
import type { ScriptStep } from "../../plugins/providers/scripted/index.ts";

export const WORK = 50;
export const QUESTIONS = 10;
/** The question number `n` is about the result of this call. */
const askedAbout = (n: number): number => n * 5 + 2;

const mixed = (n: number): number => {
  let x = Math.imul(n ^ 0x9e3779b9, 0x85ebca6b);
  x ^= x >>> 13;
  x = Math.imul(x, 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
};
const pick = <T>(from: readonly T[], n: number): T => from[mixed(n) % from.length] as T;
const words = ["order", "invoice", "customer", "ledger", "token", "budget", "receipt", "session", "worker", "cache"];

/** The fact in the result of call `i`. */
export const factOf = (i: number): string => `LIMIT_${i}_${(mixed(i * 7_919) % 90_000) + 10_000}`;

/** Whether the fact stands on a line like any other, which a smaller view has no reason to keep. */
const isPlain = (i: number): boolean => mixed(i + 3) % 2 === 1;

const kinds = ["read_file", "run_tests", "search", "list_records", "build_log", "show_diff"] as const;
type Kind = (typeof kinds)[number];
const kindOf = (i: number): Kind => kinds[i % kinds.length] ?? "read_file";

const lines = (count: number, line: (n: number) => string): string[] =>
  Array.from({ length: count }, (_, n) => line(n));

const results: Readonly<Record<Kind, (i: number) => string>> = {
  read_file: (i) => {
    const body = (n: number): string =>
      [
        `\nexport function ${pick(words, i + n)}${n}(input: ${pick(words, n)}Input): number {`,
        `  const total = input.items.reduce((sum, item) => sum + item.amount * ${n + 1}, 0);`,
        `  if (total > ${isPlain(i) && n === 23 ? factOf(i) : mixed(i + n) % 1_000}) return total - input.discount;`,
        "  return total;",
        "}",
      ].join("\n");
    const head = `import { ${pick(words, i)} } from "./${pick(words, i + 1)}.ts";`;
    return [head, ...(isPlain(i) ? [] : [`export const ${factOf(i)} = true;`]), ...lines(45, body)].join("\n");
  },
  run_tests: (i) => {
    const passed = lines(120, (n) => {
      const item = isPlain(i) && n === 61 ? factOf(i) : n;
      return `  ✓ ${pick(words, i + n)} ${pick(words, n)} keeps its total when item ${item} is removed (${mixed(n) % 40} ms)`;
    });
    const failed = `  ✕ ${pick(words, i)} refuses more than ${isPlain(i) ? "ten" : factOf(i)} (12 ms)`;
    return [...passed, failed, "Tests: 1 failed, 120 passed, 121 total"].join("\n");
  },
  search: (i) =>
    lines(110, (n) => {
      const argument = n === 61 ? factOf(i) : `"${pick(words, n)}-${n}"`;
      const place = `src/${pick(words, n)}/${pick(words, i + n)}.ts:${(mixed(n) % 400) + 1}`;
      return `${place}:  const ${pick(words, n + 2)} = await load(${argument});`;
    }).join("\n"),
  list_records: (i) => {
    const records = Array.from({ length: 60 }, (_, n) => ({
      id: n === 37 && isPlain(i) ? factOf(i) : `${pick(words, n).toUpperCase()}_${n}_${mixed(i + n) % 100_000}`,
      status: n === 37 && !isPlain(i) ? "blocked" : "active",
      region: pick(["eu", "us", "apac"], n),
      owner: pick(words, n),
      amount: mixed(i + n) % 10_000,
      note: n === 37 && !isPlain(i) ? `blocked by ${factOf(i)}` : "ok",
    }));
    return JSON.stringify(records);
  },
  build_log: (i) =>
    lines(140, (n) => {
      if (n === 88 && !isPlain(i)) return `12:08:00 ERROR compile failed: ${factOf(i)} is not defined`;
      const module = n === 88 ? factOf(i) : `${pick(words, n)}/${pick(words, i + n)}`;
      return `12:0${n % 10}:${10 + (n % 50)} INFO compiled module ${module} in ${mixed(n) % 90} ms`;
    }).join("\n"),
  show_diff: (i) =>
    lines(14, (n) => {
      const file = `src/${pick(words, i + n)}.ts`;
      const kept = lines(
        5,
        (k) => `   const ${pick(words, k)}${k} = compute(${n === 9 && k === 2 && isPlain(i) ? factOf(i) : k});`,
      );
      const added = n === 9 && !isPlain(i) ? factOf(i) : `${pick(words, n)} ?? fallback`;
      const head = [`diff --git a/${file} b/${file}`, `@@ -${n * 10 + 1},6 +${n * 10 + 1},7 @@`];
      return [...head, ...kept, `-  return ${pick(words, n)};`, `+  return ${added};`].join("\n");
    }).join("\n"),
};
export const resultOf = (i: number): string => results[kindOf(i)](i);

export const tools = (): Tool[] => [
  ...kinds.map((name) =>
    tool({
      name,
      description: `${name.replace("_", " ")} of the project.`,
      input: schema.object({ target: schema.integer() }),
      effect: "read",
      allowRepeat: true,
      execute: ({ target }) => resultOf(target),
    }),
  ),
  tool({
    name: "note",
    description: "Writes down an answer.",
    input: schema.object({ answer: schema.string() }),
    effect: "idempotent",
    allowRepeat: true,
    execute: () => "noted",
  }),
];

export const HANDLE = /ccr_[0-9a-f]{32}/;

/** What the model can see of the result of call `i`: the last time it asked for it. */
export function shownResult({ prompt }: Pick<CallOptions, "prompt">, i: number): string | undefined {
  for (const message of prompt.toReversed()) {
    if (message.role !== "tool") continue;
    for (const part of message.content)
      if (part.type === "tool-result" && part.toolCallId.startsWith(`work_${i}.`)) return textOf(part.output);
  }
  return undefined;
}

/** The model's side. */
export class Session {
  #done = 0;
  #question = 0;
  #ids = 0;
  answered = 0;
  /** Facts that had to be asked of the tool again, and that were fetched back by handle. */
  repeated = 0;
  fetched = 0;
  #tries = 0;

  step(request: CallOptions): Omit<ScriptStep, "usage"> {
    if (this.#done < WORK) {
      const target = this.#done++;
      return {
        text: `I look at ${target}.`,
        toolCalls: [{ id: `work_${target}.${++this.#ids}`, name: kindOf(target), input: { target } }],
      };
    }
    if (this.#question === QUESTIONS) return { text: "The work is done." };
    const target = askedAbout(this.#question);
    const fact = factOf(target);
    if (JSON.stringify(request.prompt).includes(fact)) {
      this.#question++;
      this.answered++;
      this.#tries = 0;
      return {
        text: `The limit is ${fact}.`,
        toolCalls: [{ id: `note_${++this.#ids}`, name: "note", input: { answer: `limit of ${target}` } }],
      };
    }
    const handle = HANDLE.exec(shownResult(request, target) ?? "")?.[0];
    // By its parts first, then whole, then from the tool; who still cannot see it gives up.
    const tries = this.#tries++;
    if (handle && tries < 2) {
      this.fetched++;
      const query = tries === 0 ? { query: `LIMIT_${target}` } : {};
      return {
        toolCalls: [
          { id: `fetch_${++this.#ids}`, name: "cave_retrieve", input: { recovery_handle: handle, ...query } },
        ],
      };
    }
    if (tries > 2) {
      this.#question++;
      this.#tries = 0;
      return { toolCalls: [{ id: `note_${++this.#ids}`, name: "note", input: { answer: `${target} is not known` } }] };
    }
    this.repeated++;
    return { toolCalls: [{ id: `work_${target}.${++this.#ids}`, name: kindOf(target), input: { target } }] };
  }
}
