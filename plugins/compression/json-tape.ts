/**
 * JSON as a tape: every value with its place in the source, so that what stays is copied as it was written. Numbers
 * keep their digits, keys their order, and duplicate keys both. No recursion: depth costs memory only.
 */

/** Nodes in source order; a container is followed by its children, and `next` leads past its last one. */
export class Tape {
  readonly source: string;
  /** First character of each node. */
  readonly starts: number[] = [];
  /** Past the last character. */
  readonly ends: number[] = [];
  /** The node after this one and all within it. */
  readonly next: number[] = [];
  /** Children: elements of an array; keys and values of an object, each counted. 0 for a scalar. */
  readonly sizes: number[] = [];

  constructor(source: string) {
    this.source = source;
  }
  isArray(node: number): boolean {
    return this.source.charCodeAt(this.starts[node] ?? 0) === 91;
  }
  isObject(node: number): boolean {
    return this.source.charCodeAt(this.starts[node] ?? 0) === 123;
  }
  isString(node: number): boolean {
    return this.source.charCodeAt(this.starts[node] ?? 0) === 34;
  }
  after(node: number): number {
    return this.next[node] ?? 0;
  }
  size(node: number): number {
    return this.sizes[node] ?? 0;
  }
  /** A node as it was written. */
  raw(node: number): string {
    return this.source.slice(this.starts[node], this.ends[node]);
  }
  /** A scalar without its quotes; escapes stay as written. */
  text(node: number): string {
    return this.isString(node)
      ? this.source.slice((this.starts[node] ?? 0) + 1, (this.ends[node] ?? 0) - 1)
      : this.raw(node);
  }
}

const SPACE = /[ \t\n\r]*/y;

/** Reads one JSON value from `from` on. @returns undefined when it is none, or when something else follows it. */
export function readJson(source: string, from = 0, to = source.length): Tape | undefined {
  const tape = new Tape(source);
  const { starts, ends, next, sizes } = tape;
  const open: number[] = [];
  let i = from;
  let parent = -1;
  let inObject = false;
  const skip = (): number => {
    let code = source.charCodeAt(i);
    while (code === 32 || code === 10 || code === 13 || code === 9) code = source.charCodeAt(++i);
    return i < to ? code : -1;
  };
  for (;;) {
    // A value begins here.
    let code = skip();
    const node = starts.length;
    if (code === 123 || code === 91) {
      starts.push(i++);
      ends.push(0);
      next.push(0);
      sizes.push(0);
      open.push(node);
      parent = node;
      inObject = code === 123;
      code = skip();
      if (code !== (inObject ? 125 : 93)) {
        if (inObject && (i = readKey(tape, i, to)) < 0) return undefined;
        continue;
      }
    } else {
      const end = code === 34 ? stringEnd(source, i, to) : scalarEnd(source, i, to);
      if (end < 0) return undefined;
      starts.push(i);
      ends.push(end);
      next.push(node + 1);
      sizes.push(0);
      i = end;
      if (parent >= 0) sizes[parent] = (sizes[parent] ?? 0) + (inObject ? 2 : 1);
    }
    // A value ended, or an empty container is about to.
    for (;;) {
      if (parent < 0) return skip() === -1 && starts.length > 0 ? tape : undefined;
      code = skip();
      if (code === 44) {
        i++;
        if (inObject) {
          if (skip() !== 34 || (i = readKey(tape, i, to)) < 0) return undefined;
        }
        break;
      }
      if (code !== (inObject ? 125 : 93)) return undefined;
      i++;
      ends[parent] = i;
      next[parent] = starts.length;
      open.pop();
      parent = open.at(-1) ?? -1;
      inObject = parent >= 0 && source.charCodeAt(starts[parent] ?? 0) === 123;
      if (parent >= 0) sizes[parent] = (sizes[parent] ?? 0) + (inObject ? 2 : 1);
    }
  }
}

/** Reads a key and its colon. @returns the place after the colon, or -1. */
function readKey({ source, starts, ends, next, sizes }: Tape, at: number, to: number): number {
  if (source.charCodeAt(at) !== 34) return -1;
  const end = stringEnd(source, at, to);
  if (end < 0) return -1;
  starts.push(at);
  ends.push(end);
  next.push(starts.length);
  sizes.push(0);
  SPACE.lastIndex = end;
  SPACE.test(source);
  const colon = SPACE.lastIndex;
  return colon < to && source.charCodeAt(colon) === 58 ? colon + 1 : -1;
}

function stringEnd(source: string, at: number, to: number): number {
  for (let i = at + 1; i < to; i++) {
    const code = source.charCodeAt(i);
    if (code === 34) return i + 1;
    if (code < 32) return -1;
    if (code !== 92) continue;
    const escaped = source.charCodeAt(++i);
    if (escaped === 117) {
      if (!/^[0-9a-fA-F]{4}$/.test(source.slice(i + 1, i + 5))) return -1;
      i += 4;
    } else if (
      !(
        escaped === 34 ||
        escaped === 92 ||
        escaped === 47 ||
        escaped === 98 ||
        escaped === 102 ||
        escaped === 110 ||
        escaped === 114 ||
        escaped === 116
      )
    )
      return -1;
  }
  return -1;
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

function scalarEnd(source: string, at: number, to: number): number {
  const code = source.charCodeAt(at);
  let end = -1;
  if (code === 116 && source.startsWith("true", at)) end = at + 4;
  else if (code === 102 && source.startsWith("false", at)) end = at + 5;
  else if (code === 110 && source.startsWith("null", at)) end = at + 4;
  else {
    NUMBER.lastIndex = at;
    if (NUMBER.test(source)) end = NUMBER.lastIndex;
  }
  return end <= to ? end : -1;
}
