/** The elements of a JSON array, or the entries of an object used as a map, as records with columns. */
import type { Tape } from "./json-tape.ts";
import type { Column, Records } from "./records.ts";

/** Fields beyond which elements have too little in common to be read as records. */
const MAX_COLUMNS = 128;
/** Fields times elements that are held at once. */
const MAX_CELLS = 8_000_000;
/** Levels of nested objects whose leaves are fields. */
const MAX_LEVELS = 6;
/** Elements of an array within a record that are fields of their own. */
const MAX_INNER = 4;
const MAX_ITEMS = 32;

/** Elements of an array, by their nodes. */
export function elementsOf(tape: Tape, array: number): number[] {
  const nodes: number[] = [];
  for (let node = array + 1; node < tape.after(array); node = tape.after(node)) nodes.push(node);
  return nodes;
}

/** Records of values; of map entries when `keys` are given. */
export function recordsOf(tape: Tape, values: readonly number[], keys?: readonly number[]): Records {
  const columns = columnsOf(tape, values) ?? [
    column(
      "",
      values.map((node) => tape.text(node)),
    ),
  ];
  if (keys)
    columns.unshift(
      column(
        "key",
        keys.map((node) => tape.text(node)),
      ),
    );
  return {
    count: values.length,
    columns,
    text: (index) => (keys ? `${tape.text(keys[index] ?? 0)} ` : "") + tape.raw(values[index] ?? 0),
  };
}

/** Whether an object is a map whose values are records of one kind. */
export function isMap(tape: Tape, object: number, least: number): boolean {
  const entries = tape.size(object) / 2;
  if (entries < least) return false;
  const shapes = new Map<string, number>();
  let [fields, most] = [0, 0];
  for (let key = object + 1; key < tape.after(object); ) {
    const value = tape.after(key);
    key = tape.after(value);
    if (!tape.isObject(value)) return false;
    for (let field = value + 1; field < tape.after(value); field = tape.after(tape.after(field))) {
      const name = tape.raw(field);
      const times = (shapes.get(name) ?? 0) + 1;
      if (shapes.size < 4 * MAX_COLUMNS) shapes.set(name, times);
      if (times > most) most = times;
      fields++;
    }
  }
  // Nearly every entry has the commonest field, and few fields are rare.
  return fields > 0 && most >= entries * 0.8 && shapes.size <= 3 * (fields / entries) + 2;
}

const column = (name: string, values: readonly (string | undefined)[]): Column => ({
  name,
  at: (index) => values[index],
});

interface Field {
  readonly name: string;
  readonly values: (string | undefined)[];
}

function columnsOf(tape: Tape, records: readonly number[]): Column[] | undefined {
  const fields: Field[] = [];
  const root = new Level("");
  const most = Math.min(MAX_COLUMNS, MAX_CELLS / records.length);
  const set = (field: Field, record: number, node: number): void => {
    // Of two equal keys the last one counts, as everywhere.
    field.values[record] =
      tape.isObject(node) || tape.isArray(node) ? tape.raw(node).replace(/\n\s*/g, "") : tape.text(node);
  };
  const read = (level: Level, record: number, node: number, depth: number): boolean => {
    const object = tape.isObject(node);
    const branches = object || (tape.isArray(node) && (depth === 0 || holdsRecords(tape, node)));
    if (depth >= MAX_LEVELS || tape.size(node) === 0 || !branches) {
      level.self ??= add(fields, level.name, records.length);
      set(level.self, record, node);
      return true;
    }
    let place = 0;
    for (let child = node + 1; child < tape.after(node); child = tape.after(child)) {
      const key = object ? tape.text(child) : String(Math.min(place++, MAX_ITEMS));
      if (object) child = tape.after(child);
      if (fields.length > most || !read(level.under(key), record, child, depth + 1)) return false;
    }
    return true;
  };
  for (let record = 0; record < records.length; record++)
    if (!read(root, record, records[record] ?? 0, 0)) return undefined;
  return fields.map(({ name, values }) => column(name, values));
}

/** A short array of objects is part of its record; one of scalars is a value. */
const holdsRecords = (tape: Tape, array: number): boolean => tape.size(array) <= MAX_INNER && tape.isObject(array + 1);

const add = (fields: Field[], name: string, count: number): Field => {
  const field: Field = { name, values: new Array<string | undefined>(count).fill(undefined) };
  fields.push(field);
  return field;
};

class Level {
  readonly name: string;
  self: Field | undefined;
  readonly #below = new Map<string, Level>();

  constructor(name: string) {
    this.name = name;
  }
  under(key: string): Level {
    let level = this.#below.get(key);
    if (!level) {
      level = new Level(this.name ? `${this.name}.${key}` : key);
      this.#below.set(key, level);
    }
    return level;
  }
}
