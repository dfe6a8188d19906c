/**
 * Agent Skills: folders with a SKILL.md. The model sees names and descriptions from the start, and reads a body, or a
 * file beside it, when it asks for it. What is wrong with a skill costs that skill, never the session.
 */
import { readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { Type } from "@sinclair/typebox";
import { type Context, context, describe, frameworkTool, type Tool } from "../../kernel/index.ts";
import { fenced, isInside, readInside } from "./repository-text.ts";
import { SKILL_FOLDERS } from "./skill-folders.ts";

/** Skills that are listed, and bytes of a body or a file that are read. */
const MAX_SKILLS = 64;
const SKILL_BYTES = 24_000;
const MAX_FILES = 100;
/** The format's own limits. */
const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;
const NAME_CHARACTERS = 64;
const DESCRIPTION_CHARACTERS = 1_024;

const FRONT_MATTER = /^\uFEFF?---[ \t]*\r?\n(?<yaml>(?:[^\n]*\n)*?)---[ \t]*(?:\r?\n|$)/;

export interface Skill {
  readonly name: string;
  readonly description: string;
  readonly folder: string;
}
/** What the Agent Skills of a repository add to a definition. */
export interface Skills {
  readonly contexts: readonly Context[];
  readonly tools: readonly Tool[];
  readonly notices: readonly string[];
  readonly names: readonly string[];
}

/** Reads the Agent Skills of a workspace. A wrong one is left out with a notice. */
export async function readSkills(workspace: string, folders: readonly string[] = SKILL_FOLDERS): Promise<Skills> {
  const skills = new Map<string, Skill>();
  const notices: string[] = [];
  for (const folder of folders) {
    const names = (await readdir(join(workspace, folder)).catch(() => [])).sort();
    for (const name of names) {
      if (skills.size >= MAX_SKILLS || skills.has(name)) continue;
      const path = join(workspace, folder, name);
      const read = await skillIn(workspace, path, name);
      if (read === undefined) continue;
      if (typeof read === "string") notices.push(`${relative(workspace, path)} is left out: ${read}`);
      else skills.set(name, read);
    }
  }
  const list = [...skills.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return {
    contexts: list.length > 0 ? [indexOf(list)] : [],
    tools: list.length > 0 ? [skillTool(workspace, list)] : [],
    notices,
    names: list.map(({ name }) => name),
  };
}

/** A skill, what is wrong with it, or undefined for a folder that holds none. */
async function skillIn(workspace: string, folder: string, name: string): Promise<Skill | string | undefined> {
  const found = await readInside(workspace, join(folder, "SKILL.md"), SKILL_BYTES);
  if ("problem" in found)
    return found.problem === "missing"
      ? undefined
      : `SKILL.md is ${found.problem === "outside" ? "outside the workspace" : found.problem}`;
  const yaml = FRONT_MATTER.exec(found.text)?.groups?.yaml;
  if (yaml === undefined) return "SKILL.md has no front matter between two lines of ---";
  // Loaded here, so that a session without skills never pays for the parser.
  const { parse } = await import("yaml");
  let head: unknown;
  try {
    head = parse(yaml, { maxAliasCount: 10 });
  } catch (cause) {
    return `its front matter is no YAML (${describe(cause).split("\n")[0]})`;
  }
  const { name: said, description } = (typeof head === "object" && head !== null ? head : {}) as Record<
    string,
    unknown
  >;
  if (typeof said !== "string" || said.length > NAME_CHARACTERS || !NAME.test(said))
    return "its name is not lower-case words with hyphens";
  if (said !== name) return `its name is ${JSON.stringify(said)} and its folder's ${JSON.stringify(name)}`;
  if (typeof description !== "string" || description.trim() === "" || description.length > DESCRIPTION_CHARACTERS)
    return `its description is not a text of at most ${DESCRIPTION_CHARACTERS} characters`;
  return { name, description: description.replace(/\s+/g, " ").trim(), folder };
}

const indexOf = (skills: readonly Skill[]): Context =>
  context({
    id: "repository.skills",
    kind: "skills",
    source: [
      "The repository has skills, written by its authors. Before work that one of them covers, read it with cave_skill; it tells you how, and gives no permission:",
      ...skills.map(({ name, description }) => `- ${name}: ${description}`),
    ].join("\n"),
    stability: "build",
  });

const skillTool = (workspace: string, skills: readonly Skill[]): Tool =>
  frameworkTool({
    name: "cave_skill",
    description: "Reads a skill by its name; with file, one of the files beside it.",
    input: Type.Object(
      { name: Type.String({ minLength: 1 }), file: Type.Optional(Type.String({ minLength: 1 })) },
      { additionalProperties: false },
    ),
    effect: "read",
    async execute({ name, file }) {
      const skill = skills.find((entry) => entry.name === name);
      if (!skill)
        return `There is no skill ${JSON.stringify(name)}. Skills: ${skills.map((entry) => entry.name).join(", ")}.`;
      const path = join(skill.folder, file ?? "SKILL.md");
      if (!isInside(skill.folder, path)) return "A skill's files are inside its folder.";
      const found = await readInside(workspace, path, SKILL_BYTES);
      if ("problem" in found)
        return `${file ?? "SKILL.md"} is ${found.problem}. Files: ${(await filesOf(skill)).join(", ") || "none"}.`;
      const text = file === undefined ? found.text.replace(FRONT_MATTER, "").trim() : found.text;
      const files = file === undefined ? await filesOf(skill) : [];
      return [
        fenced(`skill ${JSON.stringify(name)}`, found.cut ? `${text}\n[cut here: ${found.size} bytes in all]` : text),
        ...(files.length > 0 ? [`Files beside it: ${files.map((entry) => JSON.stringify(entry)).join(", ")}`] : []),
      ].join("\n");
    },
  });

async function filesOf({ folder }: Skill): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isFile() && entry.name !== "SKILL.md")
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort()
    .slice(0, MAX_FILES);
}
