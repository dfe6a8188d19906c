/** Throwaway folders, and real processes that share a store. */
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const NODE = fileURLToPath(new URL("../../../node_modules/node/bin/node", import.meta.url));
const WRITER = fileURLToPath(new URL("./writer.ts", import.meta.url));

export function folder(): { readonly path: string; readonly db: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(tmpdir(), "caveman-recovery-"));
  return { path, db: join(path, "ccr.db"), [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Runs a writer to its end and gives what it wrote. */
export async function writer(...args: readonly string[]): Promise<Buffer> {
  const { stdout } = await promisify(execFile)(NODE, [WRITER, ...args], { encoding: "buffer", maxBuffer: 2 ** 26 });
  return stdout;
}

/** Runs a writer with a file system of its own mounted at `mount`; undefined where the machine does not allow it. */
export async function writerOn(
  mount: string,
  prepare: string,
  ...args: readonly string[]
): Promise<{ readonly out: string } | undefined> {
  if (process.platform !== "linux") return undefined;
  const quoted = [NODE, WRITER, ...args].map((word) => `'${word}'`).join(" ");
  const script = `${prepare.replaceAll("$AT", `'${mount}'`)} || exit 77; exec ${quoted}`;
  const child = spawn("unshare", ["--user", "--map-root-user", "--mount", "sh", "-c", script], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  child.stdout.on("data", (chunk: Buffer) => void (out += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => void (err += chunk.toString()));
  const code = await new Promise<number | null>((resolve) =>
    child.on("error", () => resolve(77)).on("close", (status) => resolve(status)),
  );
  if (code === 77 || /unshare failed|Operation not permitted/.test(err)) return undefined;
  if (code !== 0) throw new Error(`the writer ended with ${code}: ${err}`);
  return { out };
}
