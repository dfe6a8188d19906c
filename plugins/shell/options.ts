/** What shellTools() and the plugin are told, checked. */
import { resolve } from "node:path";
import { Type } from "@sinclair/typebox";
import { CavemanError, checkOptions } from "../../kernel/index.ts";
import type { ExecutionBackend } from "./commands/backend.ts";
import type { OnOutput } from "./commands/live-output.ts";
import type { HardLinks } from "./files/boundary.ts";

/** Tools that this plugin makes. */
export const TOOL_NAMES = [
  "bash",
  "read_file",
  "grep",
  "write_file",
  "edit_file",
  "list_files",
  "command_start",
  "command_read",
  "command_write",
  "command_kill",
] as const;
export type ShellToolName = (typeof TOOL_NAMES)[number];
/** May be named among the tools: the results plugin brings it, and capped outputs are stored for it when it is there. */
export const READ_TOOL_OUTPUT = "read_tool_output";

/** Bytes of result, per tool. */
export const OUTPUT_CAPS: Readonly<Record<ShellToolName, number>> = Object.freeze({
  bash: 24_000,
  read_file: 24_000,
  grep: 16_000,
  write_file: 2_000,
  edit_file: 2_000,
  list_files: 16_000,
  command_start: 2_000,
  command_read: 24_000,
  command_write: 2_000,
  command_kill: 2_000,
});
/** A cap has room for a statement of what is left out. */
const MIN_CAP = 500;
const MAX_CAP = 8 * 1_024 * 1_024;

/** A change that write_file or edit_file made. */
export interface FileChange {
  readonly toolCallId: string;
  readonly tool: "write_file" | "edit_file";
  readonly summary: string;
  /** A unified diff of the whole change. */
  readonly diff: string;
}

export interface ShellToolsOptions {
  /** The folder the tools work in; nothing outside it is read or written by the file tools. */
  readonly workspace: string;
  /** Which tools; default: all, without the sessions when commands run elsewhere. */
  readonly tools?: readonly (ShellToolName | typeof READ_TOOL_OUTPUT)[];
  /** Bytes of result, by tool. */
  readonly outputCaps?: Partial<Record<ShellToolName, number>>;
  /** Runs `bash` elsewhere. Default: a shell on this machine. */
  readonly executionBackend?: ExecutionBackend;
  /** Variables of every command, beside the allow-listed ones. */
  readonly env?: Readonly<Record<string, string>>;
  /** Whether files with other names (hard links) are read: their other names may lie outside. Default `refuse`. */
  readonly hardLinks?: HardLinks;
  /** Whether `grep` uses ripgrep when the machine has it. Default true. */
  readonly ripgrep?: boolean;
  /** Whether started commands outlive the run that started them, until `close()` or the end of the process. Default false. */
  readonly keepCommands?: boolean;
  /** Shown the output of commands while it comes. */
  readonly onOutput?: OnOutput;
  /** Told of every change to a file. */
  readonly onChange?: (change: FileChange) => void;
}

const cap = (bytes: number) => Type.Optional(Type.Integer({ minimum: MIN_CAP, maximum: MAX_CAP, default: bytes }));
const names = [...TOOL_NAMES, READ_TOOL_OUTPUT] as const;

export const keys = {
  tools: Type.Optional(
    Type.Array(Type.Union(names.map((name) => Type.Literal(name))), {
      minItems: 1,
      uniqueItems: true,
      description: "which tools",
    }),
  ),
  outputCaps: Type.Optional(
    Type.Object(Object.fromEntries(TOOL_NAMES.map((name) => [name, cap(OUTPUT_CAPS[name])])), {
      additionalProperties: false,
      description: "bytes of result, by tool",
    }),
  ),
  executionBackend: Type.Optional(
    Type.Unsafe<ExecutionBackend>({ description: "runs bash elsewhere: { exec(request) }" }),
  ),
  env: Type.Optional(
    Type.Record(Type.String({ pattern: "^[A-Za-z_][A-Za-z0-9_]*$" }), Type.String(), {
      additionalProperties: false,
      description: "variables of every command",
    }),
  ),
  hardLinks: Type.Optional(
    Type.Union([Type.Literal("refuse"), Type.Literal("read")], {
      default: "refuse",
      description: "whether files with other names are read",
    }),
  ),
  ripgrep: Type.Optional(Type.Boolean({ default: true, description: "whether grep uses ripgrep when it is there" })),
  keepCommands: Type.Optional(
    Type.Boolean({ default: false, description: "whether started commands outlive their run" }),
  ),
  onOutput: Type.Optional(Type.Unsafe<OnOutput>({ description: "shown the output of commands while it comes" })),
  onChange: Type.Optional(Type.Unsafe<(change: FileChange) => void>({ description: "told of every change to a file" })),
};
const Options = Type.Object({ workspace: Type.String({ minLength: 1 }), ...keys }, { additionalProperties: false });

/** Options with nothing left open. */
export interface Settled extends ShellToolsOptions {
  readonly tools: readonly ShellToolName[];
  readonly caps: Readonly<Record<ShellToolName, number>>;
  readonly hardLinks: HardLinks;
  /** Whether cut results are to be paged, so that the results plugin brings its tool for that. */
  readonly paged: boolean;
}

/** @throws CavemanError `cave_option_invalid`. */
export function settled(options: ShellToolsOptions): Settled {
  const place = "shellTools()";
  const refuse = (field: string, expected: string, received: string): never => {
    throw new CavemanError("cave_option_invalid", { place: `${place}.${field}`, expected, received });
  };
  if (typeof options !== "object" || options === null)
    throw new CavemanError("cave_option_invalid", {
      place,
      expected: "an object with workspace",
      received: options === null ? "null" : typeof options,
    });
  // Functions and the backend are the caller's own objects, and are not copied.
  const { executionBackend, onOutput, onChange, ...plain } = options;
  checkOptions(Options, plain, place);
  if (options.workspace.includes("\0")) refuse("workspace", "a path", "one with a NUL character");
  for (const [field, value] of [
    ["onOutput", onOutput],
    ["onChange", onChange],
  ] as const) {
    if (value !== undefined && typeof value !== "function") refuse(field, "a function", typeof value);
  }
  if (executionBackend !== undefined && typeof executionBackend?.exec !== "function")
    refuse("executionBackend", "{ exec(request) }", typeof executionBackend);
  const local = executionBackend === undefined;
  const wanted = (options.tools ?? TOOL_NAMES.filter((name) => local || !isSession(name))).filter(
    (name) => name !== READ_TOOL_OUTPUT,
  );
  const session = wanted.find(isSession);
  if (!local && session)
    refuse("tools", "no command sessions beside an executionBackend: they run on this machine alone", session);
  return {
    ...options,
    workspace: resolve(options.workspace),
    tools: wanted,
    caps: { ...OUTPUT_CAPS, ...options.outputCaps },
    hardLinks: options.hardLinks ?? "refuse",
    paged: options.tools?.includes(READ_TOOL_OUTPUT) ?? true,
  };
}

const isSession = (name: string): boolean => name.startsWith("command_");
