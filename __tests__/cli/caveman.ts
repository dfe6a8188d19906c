/** The real command line as a child process, and throwaway directories to run it in. */
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { jest } from "@jest/globals";
import { main } from "../../cli/main.ts";

// A process a test, two at a time, on a machine that may be busy.
jest.setTimeout(60_000);

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const NODE = join(ROOT, "node_modules/node/bin/node");

export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** What the child may inherit: no credential, no colour, no condition of the test runner. */
const env = (more: Readonly<Record<string, string>>): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  NODE_NO_WARNINGS: "1",
  ...more,
});

interface Setting {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string /** Sends SIGINT when stderr or stdout first contains this. */;
  readonly interruptAt?: string;
  readonly interrupts?: number;
}

/** Runs one command line to its end. */
export async function caveman(args: readonly string[], setting: Setting = {}): Promise<Ran> {
  const child = spawn(NODE, ["--conditions=caveman-source", join(ROOT, "cli/main.ts"), ...args], {
    cwd: setting.cwd ?? ROOT,
    env: env(setting.env ?? {}),
    stdio: "pipe",
  });
  let out = "";
  let err = "";
  let left = setting.interruptAt === undefined ? 0 : (setting.interrupts ?? 1);
  const seen = (): void => {
    if (left === 0 || !(out + err).includes(setting.interruptAt ?? "")) return;
    left--;
    child.kill("SIGINT");
  };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
    seen();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
    seen();
  });
  child.stdin.end(setting.stdin ?? "");
  const code = await new Promise<number | null>((resolve, reject) => child.on("error", reject).on("close", resolve));
  return { code, out, err };
}

/** Runs one command line in this process: quicker, for what needs neither streams, signals nor a directory of its own. */
export async function here(args: readonly string[]): Promise<Ran> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await main(args, {
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    person: false,
    colour: false,
    style: (_style, text) => text,
  });
  return { code, out: out.join(""), err: err.join("") };
}

/** Runs a Node program in a directory, with this package's sources behind its name. */
export async function node(args: readonly string[], cwd: string): Promise<Ran> {
  const child = spawn(NODE, ["--conditions=caveman-source", ...args], { cwd, env: env({}), stdio: "pipe" });
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
  });
  const code = await new Promise<number | null>((resolve, reject) => child.on("error", reject).on("close", resolve));
  return { code, out, err };
}

/** A directory with files in it; `caveman-agent` resolves from it as if it were installed. */
export async function folder(
  files: Readonly<Record<string, string>> = {},
): Promise<{ path: string; [Symbol.asyncDispose](): Promise<void> }> {
  const path = await realpath(await mkdtemp(join(tmpdir(), "caveman-cli-")));
  await install(path);
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true });
    await writeFile(join(path, name), content);
  }
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** Links this package and the types of Node into a project. */
export async function install(path: string): Promise<void> {
  await mkdir(join(path, "node_modules/@types"), { recursive: true });
  await symlink(ROOT, join(path, "node_modules/caveman-agent"), "dir");
  await symlink(join(ROOT, "node_modules/@types/node"), join(path, "node_modules/@types/node"), "dir");
}
