/** The hostile files: those that are checked in, copied into a workspace, and those that git cannot hold, made there. */
import { execFileSync } from "node:child_process";
import { cpSync, ftruncateSync, linkSync, mkdirSync, openSync, symlinkSync, writeFileSync, writeSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const checkedIn = fileURLToPath(new URL("./files", import.meta.url));
const SPARSE_BYTES = 10 * 1_024 ** 3;

export function copyHostile(workspace: string): void {
  cpSync(checkedIn, workspace, { recursive: true });
}

/** Adds what no repository can carry. */
export async function makeHostile(workspace: string): Promise<void> {
  const at = (name: string): string => join(workspace, name);
  sparse(at("sparse.bin"), "");
  // The hole begins behind the bytes that tell text from binary.
  sparse(at("sparse-text.txt"), `needle in the first line\n${"and another\n".repeat(1_000)}`);
  symlinkSync("loop", at("loop"));
  symlinkSync(".", at("here"));
  symlinkSync("/etc", at("etc"));
  symlinkSync("/dev/zero", at("zeros"));
  writeFileSync(at("line\nend.txt"), "needle\n");
  writeFileSync(
    Buffer.concat([Buffer.from(`${workspace}/`), Buffer.from([0xff, 0xfe]), Buffer.from(".txt")]),
    "needle\n",
  );
  writeFileSync(at("linked-a.txt"), "needle\n");
  linkSync(at("linked-a.txt"), at("linked-b.txt"));
  writeFileSync(at("huge-line.txt"), Buffer.alloc(5 * 1_024 * 1_024, "x"));
  mkdirSync(at("x.txt"));
  execFileSync("mkfifo", [at("pipe.txt")]);
  const server = createServer().listen(at("socket.txt"));
  await new Promise((resolve) => server.once("listening", resolve));
  server.unref();
  deep(workspace, 200);
}

function sparse(path: string, head: string): void {
  const fd = openSync(path, "w");
  writeSync(fd, head);
  ftruncateSync(fd, SPARSE_BYTES);
}

/** Folders in folders, each with a file. */
function deep(workspace: string, levels: number): void {
  const path = join(workspace, ...Array.from({ length: levels }, () => "d"));
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, "bottom.txt"), "needle\n");
}
