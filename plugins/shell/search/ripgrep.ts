/** ripgrep, when the machine has it: it is given files that were walked already, and says which of their lines match. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { CavemanError } from "../../../kernel/index.ts";
import type { LinesRequest } from "../files/protocol.ts";

type Hits = LinesRequest["hits"];

/** Bytes of arguments in one call, far under every system's limit. */
const BATCH_BYTES = 96 * 1_024;
const MAX_OUTPUT_BYTES = 8 * 1_024 * 1_024;

/** The ripgrep on the path; only absolute entries count, so that no workspace can put its own in front. */
export function findRipgrep(path = process.env.PATH ?? ""): string | undefined {
  const name = process.platform === "win32" ? "rg.exe" : "rg";
  for (const folder of path.split(delimiter).filter((entry) => isAbsolute(entry))) {
    const candidate = join(folder, name);
    try {
      accessSync(candidate, constants.X_OK);
      if (statSync(candidate).isFile()) return candidate;
    } catch {
      // The next one.
    }
  }
  return undefined;
}

export interface RipgrepSearch {
  readonly program: string;
  /** Where relative file names start. */
  readonly root: string;
  /** In ripgrep's own dialect. */
  readonly pattern: string;
  readonly files: readonly string[];
  /** Enough lines; the search stops after the batch that reaches it. */
  readonly limit: number;
  readonly deadline: number;
}

/** Lines that match, file by file in the order given. @throws CavemanError `cave_pattern_invalid`, `cave_search_timeout`. */
export async function ripgrep(search: RipgrepSearch, signal: AbortSignal): Promise<Hits> {
  const hits: { file: string; lines: number[] }[] = [];
  let count = 0;
  for (const batch of batches(search.files)) {
    const found = await matchesIn(search, batch, signal);
    for (const file of batch) {
      const lines = found.get(file);
      if (!lines) continue;
      hits.push({ file, lines });
      count += lines.length;
    }
    if (count > search.limit) break;
  }
  return hits;
}

function* batches(files: readonly string[]): Generator<readonly string[]> {
  let batch: string[] = [];
  let bytes = 0;
  for (const file of files) {
    const size = Buffer.byteLength(file) + 9;
    if (batch.length > 0 && bytes + size > BATCH_BYTES) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(file);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

async function matchesIn(
  { program, root, pattern, limit, deadline }: RipgrepSearch,
  files: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, number[]>> {
  // A line of more than one byte is named and not printed: the text is read elsewhere.
  const args = [
    "--no-config",
    "--color=never",
    "--no-heading",
    "--with-filename",
    "--line-number",
    "--null",
    "--text",
    "--no-mmap",
    "--no-messages",
    `--max-columns=1`,
    `--max-count=${limit + 1}`,
    "--regexp",
    pattern,
    "--",
    ...files.map((file) => `./${file}`),
  ];
  const timeout = AbortSignal.timeout(Math.max(1, deadline - Date.now()));
  const child = process.getBuiltinModule("node:child_process").spawn(program, args, {
    cwd: root,
    env: {},
    stdio: ["ignore", "pipe", "pipe"],
    signal: AbortSignal.any([signal, timeout]),
    killSignal: "SIGKILL",
  });
  const chunks: Buffer[] = [];
  let bytes = 0;
  let complaint = "";
  child.stdout.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MAX_OUTPUT_BYTES) child.kill("SIGKILL");
    else chunks.push(chunk);
  });
  child.stderr.on("data", (chunk: Buffer) => {
    if (complaint.length < 500) complaint += chunk.toString("utf8");
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  }).catch((error: unknown) => {
    signal.throwIfAborted();
    if (timeout.aborted) throw new CavemanError("cave_search_timeout", { message: "the search took too long" });
    throw new CavemanError("cave_file_operation_failed", { message: "ripgrep could not be run", cause: error });
  });
  // 2 beside matches is a file that could not be read; without any it is a pattern ripgrep does not take.
  if (code === 2 && bytes === 0 && complaint.includes("regex")) {
    throw new CavemanError("cave_pattern_invalid", { message: complaint.trim().slice(-300) });
  }
  return parse(Buffer.concat(chunks));
}

/** `./path NUL line : rest LF`, again and again; what breaks off in the middle is left out. */
function parse(output: Buffer): Map<string, number[]> {
  const found = new Map<string, number[]>();
  for (let from = 0; from < output.length; ) {
    const nul = output.indexOf(0, from);
    const end = nul < 0 ? -1 : output.indexOf(10, nul);
    if (end < 0) break;
    const number = Number.parseInt(output.toString("latin1", nul + 1, Math.min(end, nul + 12)), 10);
    const file = output.toString("utf8", from + 2, nul);
    if (Number.isSafeInteger(number)) {
      const known = found.get(file);
      if (known) known.push(number);
      else found.set(file, [number]);
    }
    from = end + 1;
  }
  return found;
}
