/** An original as bytes, and the handle that names its content. */
import { CavemanError } from "../../kernel/index.ts";

export const HANDLE = /^ccr_[0-9a-f]{32}$/;
/** A handle anywhere in a text. */
export const CONTAINS_HANDLE = /ccr_[0-9a-f]{32}/;

/** Text is UTF-8, but for text that is no valid Unicode: that keeps its units, or a byte of it would change. */
export type Encoding = "bytes" | "utf-8" | "utf-16le";

export interface Original {
  readonly bytes: Uint8Array;
  readonly encoding: Encoding;
}

export function originalOf(content: string | Uint8Array): Original {
  if (typeof content !== "string") return { bytes: content, encoding: "bytes" };
  return content.isWellFormed()
    ? { bytes: Buffer.from(content), encoding: "utf-8" }
    : { bytes: Buffer.from(content, "utf16le"), encoding: "utf-16le" };
}

/** SHA-256 of the original, 64 hex digits. Units that are no Unicode are told apart from bytes that look the same. */
export function digestOf({ bytes, encoding }: Original): string {
  const hash = process.getBuiltinModule("node:crypto").createHash("sha256");
  if (encoding === "utf-16le") hash.update("utf-16le\0");
  return hash.update(bytes).digest("hex");
}
/** `ccr_` and the first 16 bytes of the digest. */
export const handleOf = (digest: string): string => `ccr_${digest.slice(0, 32)}`;

/** @throws CavemanError `cave_recovery_not_text`. */
export function textOfOriginal({ bytes, encoding }: Original, place: string): string {
  if (encoding === "utf-16le") return Buffer.from(bytes).toString("utf16le");
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new CavemanError("cave_recovery_not_text", { place, received: `${bytes.length} bytes that are not UTF-8` });
  }
}
