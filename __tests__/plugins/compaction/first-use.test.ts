/** What `import "caveman-agent"` must not load: the parts of the context plugins that only a full view or a result needs. */
import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join, posix, resolve } from "node:path";
import { beforeAll, expect, test } from "@jest/globals";
import { init, parse } from "es-module-lexer";

const root = resolve(import.meta.dirname, "../../..");
beforeAll(() => init());

/** The files of a folder that its face imports statically, the face included. */
function loadedBy(face: string, folder: string): ReadonlySet<string> {
  const found = new Set([face]);
  for (const file of found) {
    const stripped = stripTypeScriptTypes(readFileSync(join(root, file), "utf8"));
    // Where every name was a type, an empty import is left.
    const code = stripped.replace(/\b(import|export)\s*\{[\s,]*\}\s*from\s*["'][^"']+["']/g, "");
    for (const each of parse(code)[0]) {
      if (each.type !== "static" && each.type !== "reexport-star") continue;
      const path = posix.join(posix.dirname(file), each.specifier);
      if (each.specifier.startsWith(".") && path.startsWith(`${folder}/`)) found.add(path);
    }
  }
  return found;
}

test.each([
  ["compaction", "index.ts", ["compactor.ts", "summary.ts", "transition.ts", "capsule.ts"]],
  ["context-editing", "plugin/index.ts", ["editor.ts", "clear.ts", "occurrences.ts"]],
  ["compression", "index.ts", ["engine.ts", "detect.ts", "builtin.ts", "output-stage.ts"]],
  ["prefix", "index.ts", ["guard.ts", "epoch.ts", "hints.ts"]],
])("%s loads on first use what only its work needs", (name, face, late) => {
  const folder = `plugins/${name}`;
  const loaded = loadedBy(`${folder}/${face}`, folder);
  expect(loaded.size).toBeGreaterThan(2);
  expect(late.filter((file) => loaded.has(`${folder}/${file}`))).toEqual([]);
});
