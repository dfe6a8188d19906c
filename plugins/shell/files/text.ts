/** Bytes as text: what kind they are, and how they are read. */
import { isUtf8 } from "node:buffer";
import { closeSync, readSync } from "node:fs";
import type { Opened } from "./boundary.ts";

export type Kind = "utf8" | "utf8-bom" | "utf16le" | "utf16be" | "binary";
/** Bytes that are looked at to tell text from binary, as git does. */
const SNIFFED = 8_192;

export function kindOf(start: Uint8Array): Kind {
  const [a, b, c] = start;
  if (a === 0xff && b === 0xfe) return "utf16le";
  if (a === 0xfe && b === 0xff) return "utf16be";
  if (start.subarray(0, SNIFFED).includes(0)) return "binary";
  return a === 0xef && b === 0xbb && c === 0xbf ? "utf8-bom" : "utf8";
}

/** UTF-16 as UTF-8 bytes, and UTF-8 without its mark. */
export function asUtf8(bytes: Buffer, kind: Kind): Buffer {
  if (kind === "utf8-bom") return bytes.subarray(3);
  if (kind === "utf16le") return Buffer.from(new TextDecoder("utf-16le").decode(bytes));
  if (kind === "utf16be") return Buffer.from(new TextDecoder("utf-16be").decode(bytes));
  return bytes;
}

/** Reads what a descriptor holds, up to `limit` bytes; it trusts no size that a file claims. */
export function readUpTo(fd: number, limit: number, size = limit): Buffer {
  let bytes = Buffer.allocUnsafe(Math.min(limit, Math.max(size, 0) + 1));
  let length = 0;
  for (;;) {
    if (length === bytes.length) {
      if (length >= limit) break;
      const more = Buffer.allocUnsafe(Math.min(limit, Math.max(bytes.length * 2, 4_096)));
      bytes.copy(more, 0, 0, length);
      bytes = more;
    }
    const got = readSync(fd, bytes, length, bytes.length - length, length);
    if (got === 0) break;
    length += got;
  }
  return bytes.subarray(0, length);
}

/** Reads a whole opened file and closes it; undefined when it holds more than `limit` bytes. */
export function wholeOf(opened: Opened, limit: number): Buffer | undefined {
  try {
    if (opened.stat.size > limit) return undefined;
    const bytes = readUpTo(opened.fd, limit + 1, opened.stat.size);
    return bytes.length > limit ? undefined : bytes;
  } finally {
    closeSync(opened.fd);
  }
}

export const isValidUtf8 = (bytes: Uint8Array): boolean => isUtf8(bytes);
