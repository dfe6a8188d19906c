/** Where bytes of UTF-8 can be cut without splitting a character. */

/** The most bytes, not over `max`, that end on a character. */
export function characterEnd(bytes: Uint8Array, max: number): number {
  if (bytes.length <= max) return bytes.length;
  let end = max;
  for (let back = 0; back < 3 && end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80; back++) end--;
  return end;
}

/** Where the first whole character begins, when the first bytes are the rest of one. */
export function characterStart(bytes: Uint8Array): number {
  let start = 0;
  while (start < 3 && start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  return start;
}

/** Length without a character at the end whose last bytes are missing. */
export function wholeCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const needs = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needs > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}
