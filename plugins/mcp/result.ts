/** What a server answered, as text a model reads: bounded at its source, cut between lines, the omission stated. */
import { cleanText } from "./definition.ts";

export interface Answer {
  readonly text: string;
  readonly isError: boolean;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function readResult(result: unknown, maxBytes: number): Answer {
  if (!isRecord(result)) return { text: "", isError: false };
  const parts = (Array.isArray(result.content) ? result.content : []).map(partText);
  const said = parts.filter((text) => text !== "").join("\n");
  const text = said === "" && result.structuredContent !== undefined ? JSON.stringify(result.structuredContent) : said;
  return { text: capped(text, maxBytes), isError: result.isError === true };
}

function partText(part: unknown): string {
  if (!isRecord(part)) return "";
  switch (part.type) {
    case "text":
      return typeof part.text === "string" ? part.text.toWellFormed() : "";
    case "image":
    case "audio":
      return omitted(part.type, part.mimeType, part.data);
    case "resource_link":
      return `[resource ${word(part.uri)}${typeof part.name === "string" ? ` "${word(part.name)}"` : ""}]`;
    case "resource": {
      const { resource } = part;
      if (!isRecord(resource)) return "";
      if (typeof resource.text === "string") return resource.text.toWellFormed();
      return omitted(`resource ${word(resource.uri)}`, resource.mimeType, resource.blob);
    }
    default:
      return `[${word(part.type)}: not shown]`;
  }
}

const word = (value: unknown): string => cleanText(typeof value === "string" ? value : "of an unknown kind", 200);
const omitted = (what: string, type: unknown, base64: unknown): string =>
  `[${what} ${word(type)}, ${typeof base64 === "string" ? Math.floor((base64.length * 3) / 4) : 0} bytes: not shown]`;

/** Keeps head and tail of a text that is too long. */
export function capped(text: string, maxBytes: number): string {
  const size = Buffer.byteLength(text);
  if (size <= maxBytes) return text;
  const whole = Buffer.from(text);
  const half = Math.floor(maxBytes / 2);
  const head = headOf(whole.subarray(0, half));
  const tail = tailOf(whole.subarray(size - half));
  return `${head}\n[${size - Buffer.byteLength(head) - Buffer.byteLength(tail)} bytes left out]\n${tail}`;
}

const NEWLINE = 10;

// A line that fills the half is cut anyway, between characters.
function headOf(part: Buffer): string {
  const line = part.lastIndexOf(NEWLINE);
  return decode(line > 0 ? part.subarray(0, line) : part.subarray(0, characterStart(part, part.length)));
}
function tailOf(part: Buffer): string {
  const line = part.indexOf(NEWLINE);
  if (line >= 0 && line < part.length - 1) return decode(part.subarray(line + 1));
  let at = 0;
  while (at < 4 && ((part[at] ?? 0) & 0xc0) === 0x80) at++;
  return decode(part.subarray(at));
}
const decode = (part: Buffer): string => part.toString("utf8");

/** Where the last whole character before `end` ends. */
function characterStart(part: Buffer, end: number): number {
  let at = end - 1;
  while (at > end - 4 && at > 0 && ((part[at] ?? 0) & 0xc0) === 0x80) at--;
  const lead = part[at] ?? 0;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return at + length <= end ? at + length : at;
}
