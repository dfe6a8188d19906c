/** grep: lines that match a regular expression, found by ripgrep or by the file worker, the same either way. */
import { Type } from "@sinclair/typebox";
import { CavemanError, type Tool, tool } from "../../../kernel/index.ts";
import { FileFault } from "../files/fault.ts";
import { FILE_MS } from "../files/file-worker.ts";
import type { GrepAnswer } from "../files/protocol.ts";
import { oneLine } from "../files/tools.ts";
import type { Shell } from "../shell.ts";
import { type Pattern, parsePattern } from "./pattern.ts";
import { findRipgrep, ripgrep } from "./ripgrep.ts";
import { searchRequest } from "./search-request.ts";

/** Matches that one search returns. */
export const MAX_MATCHES = 200;

const Input = Type.Object(
  {
    pattern: Type.String({ minLength: 1, description: "regular expression, without look-around and back-references" }),
    path: Type.Optional(Type.String({ minLength: 1, description: "file or folder; default the workspace" })),
    glob: Type.Optional(Type.String({ minLength: 1, description: "as *.ts or src/**/*.json; a leading ! excludes" })),
    ignoreCase: Type.Optional(Type.Boolean()),
    literal: Type.Optional(Type.Boolean({ description: "takes the pattern as plain text" })),
  },
  { additionalProperties: false },
);
type Arguments = { pattern: string; path?: string; glob?: string; ignoreCase?: boolean; literal?: boolean };

export const grepTool = (shell: Shell): Tool =>
  tool({
    name: "grep",
    description: `Searches files line by line, without what ignore files leave out. Lines come as path:line:text, at most ${MAX_MATCHES}.`,
    input: Input,
    effect: "read",
    result: shell.cut,
    timeoutMs: FILE_MS + 10_000,
    async execute(input, { signal }) {
      const { matches, more, notes } = await search(shell, input, signal);
      const said = [
        ...(more ? [`only the first ${matches.length} matches; narrow the path, the glob or the pattern`] : []),
        ...notes,
      ];
      const text =
        matches.length === 0
          ? "[no matches]"
          : matches.map(({ file, line, text: found }) => `${oneLine(file)}:${line}:${found}`).join("\n");
      return shell.deliver("grep", input, said.length > 0 ? `${text}\n[${said.join("; ")}]` : text);
    },
  });

async function search(shell: Shell, input: Arguments, signal: AbortSignal): Promise<GrepAnswer> {
  const pattern = parsed(input);
  const place = { path: input.path ?? ".", ...(input.glob === undefined ? {} : { glob: input.glob }) };
  const program = shell.options.ripgrep === false ? undefined : findRipgrep();
  const deadline = Date.now() + FILE_MS;
  if (!program)
    return shell.files.ask(
      { kind: "grep", ...place, source: pattern.source, flags: pattern.flags, limit: MAX_MATCHES },
      signal,
    );
  const listed = await shell.files.ask(searchRequest(place), signal);
  const root = await shell.root();
  const hits = await ripgrep(
    { program, root, pattern: pattern.rust, files: listed.files, limit: MAX_MATCHES, deadline },
    signal,
  );
  const found = await shell.files.ask(
    { kind: "lines", hits, limit: MAX_MATCHES },
    signal,
    Math.max(1, deadline - Date.now()),
  );
  return { ...found, notes: [...listed.notes, ...(listed.more ? ["more files than one search looks at"] : [])] };
}

function parsed({ pattern, literal = false, ignoreCase = false }: Arguments): Pattern {
  try {
    return parsePattern(pattern, { literal, ignoreCase });
  } catch (error) {
    throw error instanceof FileFault ? new CavemanError(error.code, { message: error.message }) : error;
  }
}
