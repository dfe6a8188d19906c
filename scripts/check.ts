/** `npm run check`: types, lint and format, and the freshness of generated files, side by side. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";

interface Check {
  readonly name: string;
  readonly command: readonly [string, ...string[]];
}

const checks: Check[] = [
  { name: "types", command: ["tsc", "--noEmit"] },
  { name: "lint and format", command: ["biome", "check", "--error-on-warnings", "."] },
];
if (existsSync("scripts/check-generated.ts")) {
  checks.push({
    name: "generated files",
    command: [process.execPath, ...process.execArgv, "scripts/check-generated.ts"],
  });
}

function run({ name, command: [program, ...args] }: Check): Promise<boolean> {
  const started = performance.now();
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], shell: process.platform === "win32" });
    const output: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => output.push(chunk));
    child.on("error", (error) => output.push(Buffer.from(`cannot start ${program}: ${error.message}\n`)));
    child.on("close", (code) => {
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      if (code !== 0) process.stdout.write(Buffer.concat(output));
      console.log(`${code === 0 ? "ok  " : "FAIL"} ${name} (${seconds} s)`);
      resolve(code === 0);
    });
  });
}

const results = await Promise.all(checks.map(run));
process.exitCode = results.every(Boolean) ? 0 : 1;
