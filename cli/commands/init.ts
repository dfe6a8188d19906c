/** `caveman init`: a new project, written beside its target and moved there whole. */
import { chmod, mkdir, mkdtemp, readdir, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { asCaveman, CavemanError } from "../../kernel/errors.ts";
import { makeFolder, systemCode } from "../../plugins/private-file.ts";
import { type Args, EXIT, text } from "../command.ts";
import "../errors.ts";
import { packageVersion } from "../package.ts";
import { projectFiles } from "../project-template.ts";
import type { Terminal } from "../render/terminal.ts";

export async function execute(args: Args, terminal: Terminal): Promise<number> {
  const target = resolve(text(args, "dir") ?? "");
  const files = projectFiles({ name: packageName(target), version: await packageVersion() });
  await write(target, files);
  const shown = relative(process.cwd(), target) || ".";
  terminal.out(`${target}\n`);
  terminal.err(
    `${Object.keys(files)
      .map((file) => `  ${file}\n`)
      .join("")}\nNext:\n  cd ${shown}\n  npm install\n  npm start\n  npm test\n`,
  );
  return EXIT.done;
}

/** All files or none: a reader never sees half a project, and nothing of the user's is replaced. */
async function write(target: string, files: Readonly<Record<string, string>>): Promise<void> {
  const present = await readdir(target).catch((cause: unknown) => {
    if (systemCode(cause) === "ENOENT") return undefined;
    throw new CavemanError("cave_init_not_empty", {
      place: target,
      expected: "a new or empty directory",
      received: "something else",
      cause,
    });
  });
  if (present && present.length > 0)
    throw new CavemanError("cave_init_not_empty", {
      place: target,
      expected: "a new or empty directory",
      received: present.slice(0, 5).join(", "),
    });
  let staged: string | undefined;
  try {
    makeFolder(dirname(target), 0o777);
    staged = await mkdtemp(join(dirname(target), ".caveman-init-"));
    for (const [file, content] of Object.entries(files)) {
      await mkdir(dirname(join(staged, file)), { recursive: true });
      await writeFile(join(staged, file), content);
    }
    await chmod(staged, 0o777 & ~process.umask()); // mkdtemp makes it private
    if (present) await rmdir(target); // fails when it is no longer empty
    await rename(staged, target);
  } catch (cause) {
    if (staged !== undefined) await rm(staged, { recursive: true, force: true });
    throw asCaveman(cause, "cave_init_failed", { place: target });
  }
}

const packageName = (target: string): string =>
  basename(target)
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+|-+$/g, "") || "agent";
