/** `read_tool_output`: pages through a stored output, or searches it for a literal text. */
import { type Static, Type } from "@sinclair/typebox";
import { CavemanError, checkJson, type Tool, tool } from "../../kernel/index.ts";
import { detached, headEnd } from "./cap.ts";
import type { OutputStore, StoredOutput } from "./output-store.ts";

export const READ_TOOL_OUTPUT = "read_tool_output";
/** Most bytes of one answer. */
export const PAGE_BYTES = 24_000;
/** Room for the lines that say where a page stands. */
const FRAME_BYTES = 320;
const DEFAULT_MATCHES = 100;
/** A match in a longer line is shown with so many characters around it. */
const LONG_LINE = 400;

const Input = Type.Object(
  {
    handle: Type.String({ minLength: 1, maxLength: 128, description: "Handle that a capped output names." }),
    offset: Type.Optional(Type.Integer({ minimum: 1, description: "Line to start at. Default 1." })),
    column: Type.Optional(Type.Integer({ minimum: 1, description: "Character of that line to start at." })),
    limit: Type.Optional(Type.Integer({ minimum: 1, description: "Most lines, or most matches with query." })),
    query: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1_000,
        description: "Literal text; answers with the lines that have it.",
      }),
    ),
  },
  { additionalProperties: false },
);
type Request = Static<typeof Input>;

const made = new WeakSet<Tool>();
/** Whether a tool is this one and no other of its name. */
export const isReadToolOutput = (candidate: Tool): boolean => made.has(candidate);

/** The tool over one store. */
export function readToolOutput(store: OutputStore): Tool {
  const own = tool({
    name: READ_TOOL_OUTPUT,
    description:
      "Reads more of a tool output that was capped, by its handle: a page from a line on, or the lines that contain a text.",
    input: Input,
    effect: "read",
    result: "inline",
    execute: (request) => readStored(store, request),
  });
  made.add(own);
  return own;
}

/** A call of the tool, whoever declared it. @throws CavemanError `cave_tool_arguments_invalid`. */
export function requestIn(input: unknown): Request {
  const read = checkJson<Request>(Input, input);
  if (read.ok) return read.value;
  throw new CavemanError("cave_tool_arguments_invalid", { place: READ_TOOL_OUTPUT, received: read.problem });
}
/** The handle a call asks for, whatever else is wrong with it. */
export const handleIn = (input: unknown): string =>
  typeof input === "object" && input !== null && "handle" in input && typeof input.handle === "string"
    ? input.handle
    : "";

/** @throws CavemanError `cave_output_handle_unknown`, `cave_output_offset_invalid`. */
export function readStored(store: OutputStore, request: Request): string {
  const entry = store.find(request.handle);
  if (!entry) throw new CavemanError("cave_output_handle_unknown", { place: READ_TOOL_OUTPUT });
  const { offset = 1, column = 1 } = request;
  const from = entry.startOf(offset) + column - 1;
  if (offset > entry.lines || (from >= entry.text.length && entry.text !== ""))
    throw new CavemanError("cave_output_offset_invalid", {
      place: READ_TOOL_OUTPUT,
      expected: `a place within ${entry.lines} lines`,
      received: `line ${offset}, column ${column}`,
    });
  return request.query === undefined
    ? page(entry, offset, whole(entry.text, from), request.limit)
    : matches(entry, request.query, whole(entry.text, from), request.limit ?? DEFAULT_MATCHES);
}

/** Never starts on the second half of a character. */
const whole = (text: string, at: number): number => {
  const unit = text.charCodeAt(at);
  const before = text.charCodeAt(at - 1);
  return unit >= 0xdc00 && unit <= 0xdfff && before >= 0xd800 && before <= 0xdbff ? at - 1 : at;
};

function page(entry: StoredOutput, line: number, from: number, limit: number | undefined): string {
  const { text } = entry;
  const wanted = limit === undefined ? text.length : entry.startOf(line + limit);
  const end = Math.min(wanted, headEnd(text, PAGE_BYTES - FRAME_BYTES, from));
  const shown = detached(text.slice(from, end));
  const last = entry.lineAt(Math.max(from, end - 1));
  const said = `[${entry.toolName}: lines ${line} to ${last} of ${entry.lines}, ${entry.bytes} bytes in all]`;
  const more = end < text.length ? `[goes on at ${place(entry, end)}]` : "[end]";
  return `${said}\n${shown}${shown === "" || shown.endsWith("\n") ? "" : "\n"}${more}`;
}

function place(entry: StoredOutput, index: number): string {
  const line = entry.lineAt(index);
  const column = index - entry.startOf(line) + 1;
  return column === 1 ? `offset ${line}` : `offset ${line}, column ${column}`;
}

function matches(entry: StoredOutput, query: string, from: number, limit: number): string {
  const { text } = entry;
  const rows: string[] = [];
  let room = PAGE_BYTES - FRAME_BYTES;
  let at = text.indexOf(query, from);
  while (at >= 0 && rows.length < limit) {
    const line = entry.lineAt(at);
    const start = entry.startOf(line);
    const next = entry.startOf(line + 1);
    const long = next - start > LONG_LINE;
    const row = long
      ? around(text, at, query.length, start, next, line)
      : `${line}: ${text.slice(start, next).replace(/\r?\n$/, "")}`;
    const size = Buffer.byteLength(row) + 1;
    if (size > room) break;
    room -= size;
    rows.push(row);
    at = text.indexOf(query, long ? at + Math.max(query.length, LONG_LINE / 2) : Math.max(next, at + query.length));
  }
  const said = `[${entry.toolName}: ${rows.length} matches shown, ${entry.lines} lines in all]`;
  const more = at < 0 ? "[no more]" : `[more from ${place(entry, at)}]`;
  return detached([said, ...rows, more].join("\n"));
}

/** A match with what stands around it in its line. */
function around(text: string, at: number, length: number, start: number, next: number, line: number): string {
  const left = whole(text, Math.max(start, at - LONG_LINE / 4));
  const right = whole(text, Math.min(next, at + Math.min(length, LONG_LINE) + LONG_LINE / 4));
  const shown = text.slice(left, right).replace(/\r?\n$/, "");
  return `${line}:${at - start + 1}: ${left > start ? "…" : ""}${shown}${right < next ? "…" : ""}`;
}
