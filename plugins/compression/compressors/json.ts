/**
 * JSON: every key of an object, subtrees of errors as they are, and of long arrays and maps of records the edges, what
 * stands out and what was asked for. Values are copied from the source, never written anew.
 */
import type { CompressContext, Compressed, Compressor } from "../compressor.ts";
import { summaryBudget } from "../invariants.ts";
import { elementsOf, isMap, recordsOf } from "../json-records.ts";
import { readJson, type Tape } from "../json-tape.ts";
import { isMarked, JSON_ELIDED, JSON_INVARIANTS } from "../markers.ts";
import { select } from "../records.ts";

/** Arrays up to here stay whole. */
const MAX_WHOLE = 8;
/** Entries from which an object may be a map. */
const MIN_MAP = 12;
/** Levels below which everything is copied. */
const MAX_DEPTH = 64;
/** Characters from which a string may hold content of its own, such as the output of a command. */
const LONG_STRING = 1_500;
const MAX_LONG_STRINGS = 16;
/** Share of the bytes that a change of spelling alone must save: it costs the layout an editor may need. */
const MIN_SPELLING = 0.2;

export const json: Compressor = {
  type: "json",
  keeps:
    "all keys, error subtrees, edges of arrays, outliers, level changes, one example of every category and shape, matches of the query",
  async compress(input, context) {
    const whole = readJson(input);
    const tape = whole ?? readLines(input);
    if (!tape) return undefined;
    const view = new JsonView(tape, context, await embedded(tape, context));
    const text = whole ? view.write() : view.writeLines();
    const { kept, dropped } = view;
    if (dropped > 0) return { text, method: view.method(whole !== undefined), unit: "elements", kept, dropped };
    if (text.length > input.length * (1 - MIN_SPELLING)) return undefined;
    return { text, method: "json-minified", unit: "elements", kept, dropped: 0, lossless: true };
  },
};

/** One value a line, read as one array. No string of JSON holds a line break, so they only stand between values. */
function readLines(input: string): Tape | undefined {
  const lines = input.trim().replace(/\r?\n(?:[ \t]*\r?\n)*/g, ",\n");
  if (!/^[[{"]/.test(lines) || !lines.includes("\n")) return undefined;
  const source = `[${lines}]`;
  const tape = readJson(source);
  return tape?.isArray(0) && tape.size(0) > MAX_WHOLE ? tape : undefined;
}

/** Long strings whose own content has a smaller view: the node and the string to write. */
async function embedded(tape: Tape, context: CompressContext): Promise<Map<number, Compressed>> {
  const found = new Map<number, Compressed>();
  const long: number[] = [];
  for (let node = 0; node < tape.starts.length; node++)
    if ((tape.ends[node] ?? 0) - (tape.starts[node] ?? 0) >= LONG_STRING && tape.isString(node)) long.push(node);
  if (long.length > MAX_LONG_STRINGS) return found;
  for (const node of long) {
    const value: unknown = JSON.parse(tape.raw(node));
    const smaller = typeof value === "string" && !isMarked(value) ? await context.inner(value) : undefined;
    if (smaller && smaller.dropped > 0) found.set(node, { ...smaller, text: JSON.stringify(smaller.text) });
  }
  return found;
}

class JsonView {
  kept = 0;
  dropped = 0;
  readonly #tape: Tape;
  readonly #query: string;
  readonly #embedded: Map<number, Compressed>;
  #maps = 0;
  #arrays = 0;

  constructor(tape: Tape, context: CompressContext, inside: Map<number, Compressed>) {
    this.#tape = tape;
    this.#query = context.query;
    this.#embedded = inside;
  }

  method(whole: boolean): string {
    if (!whole) return "json-lines";
    if (this.#maps + this.#arrays === 0) return "json-embedded";
    return this.#maps > this.#arrays ? "json-map" : "json";
  }
  write(): string {
    const out: string[] = [];
    this.#value(0, out, 0);
    return out.join("");
  }
  writeLines(): string {
    return this.#elements(0, 1).join("\n");
  }

  #value(node: number, out: string[], depth: number): void {
    const tape = this.#tape;
    if (depth > MAX_DEPTH) out.push(tape.raw(node));
    else if (tape.isArray(node)) out.push("[", this.#elements(node, depth + 1).join(","), "]");
    else if (tape.isObject(node)) this.#object(node, out, depth + 1);
    else {
      const inside = this.#embedded.get(node);
      out.push(inside ? inside.text : tape.raw(node));
      this.kept += inside?.kept ?? 0;
      this.dropped += inside?.dropped ?? 0;
    }
  }

  #text(node: number, depth: number): string {
    const out: string[] = [];
    this.#value(node, out, depth);
    return out.join("");
  }

  #object(node: number, out: string[], depth: number): void {
    const tape = this.#tape;
    if (isMap(tape, node, MIN_MAP) && this.#map(node, out, depth)) return;
    let separator = "{";
    for (let key = node + 1; key < tape.after(node); ) {
      const value = tape.after(key);
      out.push(separator, tape.raw(key), ":");
      if (FAULT.test(tape.raw(key))) this.#verbatim(value, out);
      else this.#value(value, out, depth);
      separator = ",";
      key = tape.after(value);
    }
    out.push(separator === "{" ? "{}" : "}");
  }

  /** A subtree as it is, without the space between its parts. */
  #verbatim(node: number, out: string[]): void {
    const tape = this.#tape;
    const raw = tape.raw(node);
    if (tape.size(node) === 0 || !/[\n\r\t]/.test(raw)) out.push(raw);
    else out.push(minified(tape, node));
  }

  /** The elements of an array, with an element for each run that is left out. */
  #elements(array: number, depth: number): string[] {
    const nodes = elementsOf(this.#tape, array);
    const plain = (): string[] => nodes.map((node) => this.#text(node, depth));
    if (nodes.length <= MAX_WHOLE) return plain();
    const selection = select(recordsOf(this.#tape, nodes), { query: this.#query });
    if (!selection) return plain();
    const { kept } = selection;
    const runs = runsOf(
      kept,
      (from, to) => (this.#tape.ends[nodes[to - 1] ?? 0] ?? 0) - (this.#tape.starts[nodes[from] ?? 0] ?? 0),
    );
    if (runs.length === 0) return plain();
    this.#arrays++;
    const bytes = runs.reduce((sum, run) => sum + run.length, 0);
    const summary = selection.summary(summaryBudget(bytes));
    const out: string[] = [];
    let at = 0;
    for (const { from, to } of runs) {
      for (; at < from; at++) out.push(this.#text(nodes[at] ?? 0, depth));
      out.push(`{${marker(to - from, from === runs[0]?.from ? scoped(summary, runs) : "")}}`);
      at = to;
    }
    for (; at < nodes.length; at++) out.push(this.#text(nodes[at] ?? 0, depth));
    const dropped = runs.reduce((sum, { from, to }) => sum + to - from, 0);
    this.dropped += dropped;
    this.kept += nodes.length - dropped;
    return out;
  }

  /** @returns false when no entry may go. */
  #map(node: number, out: string[], depth: number): boolean {
    const tape = this.#tape;
    const keys: number[] = [];
    const values: number[] = [];
    for (let key = node + 1; key < tape.after(node); key = tape.after(tape.after(key))) {
      keys.push(key);
      values.push(tape.after(key));
    }
    const selection = select(recordsOf(tape, values, keys), { query: this.#query });
    const dropped = selection ? selection.kept.reduce((sum, one) => sum + (one ? 0 : 1), 0) : 0;
    if (!selection || dropped < 2) return false;
    this.#maps++;
    let separator = "{";
    let bytes = 0;
    for (let i = 0; i < keys.length; i++) {
      const [key, value] = [keys[i] ?? 0, values[i] ?? 0];
      if (selection.kept[i]) {
        out.push(separator, tape.raw(key), ":");
        this.#value(value, out, depth);
        separator = ",";
      } else bytes += (tape.ends[value] ?? 0) - (tape.starts[key] ?? 0);
    }
    out.push(separator, marker(dropped, selection.summary(summaryBudget(bytes))), "}");
    this.dropped += dropped;
    this.kept += keys.length - dropped;
    return true;
  }
}

const FAULT = /^"(?:errors?|exceptions?|fault|failure|stack|traceback)"$/i;

const marker = (count: number, summary: string): string =>
  `"${JSON_ELIDED}":${count}${summary ? `,"${JSON_INVARIANTS}":${JSON.stringify(summary)}` : ""}`;

interface Run {
  readonly from: number;
  readonly to: number;
  /** Characters it takes in the source. */
  readonly length: number;
}

/** Says whose invariants they are, when they are of more than the run that carries them. */
const scoped = (summary: string, runs: readonly Run[]): string =>
  summary && runs.length > 1
    ? `all ${runs.reduce((sum, { from, to }) => sum + to - from, 0)} elided: ${summary}`
    : summary;

/** Runs worth leaving out. Elements of shorter ones count as kept from then on. */
function runsOf(kept: Uint8Array, lengthOf: (from: number, to: number) => number): Run[] {
  const runs: Run[] = [];
  for (let from = 0; from < kept.length; from++) {
    if (kept[from]) continue;
    let to = from;
    while (to < kept.length && !kept[to]) to++;
    const length = lengthOf(from, to);
    if (length > 2 * (JSON_ELIDED.length + 6)) runs.push({ from, to, length });
    else kept.fill(1, from, to);
    from = to;
  }
  return runs;
}

/** A node without the space between its parts. */
function minified(tape: Tape, root: number): string {
  const out: string[] = [];
  const { source } = tape;
  let at = tape.starts[root] ?? 0;
  for (let node = root; node < tape.after(root); node++) {
    const start = tape.starts[node] ?? 0;
    out.push(source.slice(at, start).replace(/\s+/g, ""));
    at = tape.size(node) > 0 || tape.isArray(node) || tape.isObject(node) ? start : (tape.ends[node] ?? 0);
    if (at > start) out.push(source.slice(start, at));
  }
  out.push(source.slice(at, tape.ends[root]).replace(/\s+/g, ""));
  return out.join("");
}
