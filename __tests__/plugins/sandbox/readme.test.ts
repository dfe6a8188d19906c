/** The example of the README runs as it stands. */

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { available } from "./availability.ts";

const folder = join(import.meta.dirname, "../../../plugins/sandbox");

(available ? test : test.skip)(
  "the example runs its tool in a worker",
  async () => {
    const [, code = ""] = /```ts\n([\s\S]*?)```/.exec(readFileSync(join(folder, "README.md"), "utf8")) ?? [];
    // Inside the repository, so that the package's own name leads to its sources.
    const dir = mkdtempSync(join(import.meta.dirname, "readme-"));
    try {
      const face = JSON.stringify(join(folder, "index.ts"));
      writeFileSync(join(dir, "example.ts"), code.replace('"caveman-agent/plugins"', face));
      const args = ["--conditions=caveman-source", "--no-warnings", join(dir, "example.ts")];
      const [out, errors] = await new Promise<[string, string]>((resolve) =>
        execFile(process.execPath, args, (_error, stdout, stderr) => resolve([stdout, stderr])),
      );
      expect(errors).toBe("");
      expect(out).toContain("name: 'whoami', calls: 1, errors: 0");
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  },
  20_000,
);
