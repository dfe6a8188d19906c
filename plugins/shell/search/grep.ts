/** What grep does: lines that match, found by ripgrep or by the file worker, and named the same either way. */
import { CavemanError, type ToolContext } from "../../../kernel/index.ts";
import { FileFault } from "../files/fault.ts";
import { oneLine } from "../files/file-calls.ts";
import type { GrepAnswer } from "../files/protocol.ts";
import { FILE_MS, MAX_MATCHES } from "../limits.ts";
import type { Shell } from "../shell.ts";
import { type Pattern, parsePattern } from "./pattern.ts";
import { findRipgrep, ripgrep } from "./ripgrep.ts";
import { searchRequest } from "./search-request.ts";

interface Arguments {
  readonly pattern: string;
  readonly path?: string;
  readonly glob?: string;
  readonly ignoreCase?: boolean;
  readonly literal?: boolean;
}

export async function grep(shell: Shell, input: Arguments, { signal }: ToolContext): Promise<string> {
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
}

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
