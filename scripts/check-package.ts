/** Builds the package and holds it to its sources: `caveman doctor` must find the same with both. */
import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");

interface Report {
  readonly checks: readonly { readonly name: string; readonly status: string; readonly detail: string }[];
}

function doctor(entry: string, conditions: readonly string[]): Map<string, string> {
  const { stdout, stderr } = spawnSync(process.execPath, [...conditions, join(root, entry), "doctor", "--json"], {
    cwd: root,
    encoding: "utf8",
  });
  try {
    const { checks } = JSON.parse(stdout) as Report;
    return new Map(
      checks.map(({ name, status, detail }) => [name, status === "pass" ? status : `${status}: ${detail}`]),
    );
  } catch {
    throw new Error(`${entry} doctor gave no report: ${stderr || stdout}`);
  }
}

const built = spawnSync(process.execPath, ["--conditions=caveman-source", join(root, "scripts/build.ts")], {
  cwd: root,
  stdio: ["ignore", "ignore", "inherit"],
});
if (built.status !== 0) throw new Error("the package does not build");
const source = doctor("cli/main.ts", ["--conditions=caveman-source"]);
const differing = [...doctor("dist/cli/main.js", [])].filter(([name, found]) => source.get(name) !== found);
for (const [name, found] of differing)
  console.error(`package: ${name}: expected ${source.get(name) ?? "no such check"}, as from source; received ${found}`);
if (differing.length > 0) process.exitCode = 1;
else console.log(`ok   package: built, and its doctor finds what the source's does (${source.size} checks)`);
