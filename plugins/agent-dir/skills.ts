/**
 * Skills: the model sees an index of names and descriptions from the first call on; a body is read only when it asks.
 * The index is build-stable and sorted, so it never moves the frozen prefix.
 */
import { join } from "node:path";
import { Type } from "@sinclair/typebox";
import { type Context, context, frameworkTool, type Tool } from "../../kernel/definition.ts";
import { CavemanError, describe } from "../../kernel/errors.ts";
import { refuse } from "./errors.ts";
import { insideOf, markdownIn, textOf } from "./files.ts";

export interface Skill {
  readonly name: string;
  readonly description: string;
  readonly path: string;
}

const FRONT_MATTER = /^\uFEFF?---[ \t]*\r?\n(?<yaml>(?:[^\n]*\n)*?)---[ \t]*(?:\r?\n|$)/;

/** The skills of a directory, by name. @throws CavemanError `cave_skill_invalid`, `cave_agent_dir_invalid`. */
export async function readSkills(dir: string): Promise<Skill[]> {
  const folder = join(dir, "skills");
  const skills: Skill[] = [];
  for (const { stem, path } of await markdownIn(folder)) {
    const text = (await textOf(await insideOf(folder, path))) ?? "";
    skills.push({ ...(await frontMatterOf(text, path, stem)), path });
  }
  return skills.sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function frontMatterOf(text: string, path: string, stem: string): Promise<{ name: string; description: string }> {
  const yaml = FRONT_MATTER.exec(text)?.groups?.yaml;
  if (yaml === undefined) refuse("cave_skill_invalid", path, "front matter between two lines of ---", "none");
  // Loaded here, so that an agent without skills never pays for the parser.
  const { parse } = await import("yaml");
  let head: unknown;
  try {
    head = parse(yaml);
  } catch (cause) {
    throw new CavemanError("cave_skill_invalid", {
      place: path,
      expected: "front matter in YAML",
      received: describe(cause),
      cause,
    });
  }
  if (typeof head !== "object" || head === null || Array.isArray(head))
    refuse(
      "cave_skill_invalid",
      path,
      "front matter with name and description",
      head === null ? "nothing" : typeof head,
    );
  const { name, description } = head as Record<string, unknown>;
  for (const [key, value] of [
    ["name", name],
    ["description", description],
  ] as const) {
    if (typeof value !== "string" || value.trim() === "")
      refuse("cave_skill_invalid", `${path} ${key}`, "text", value === undefined ? "nothing" : JSON.stringify(value));
  }
  if (name !== stem)
    refuse(
      "cave_skill_invalid",
      `${path} name`,
      JSON.stringify(stem),
      JSON.stringify(name),
      "Give the skill the name of its file.",
    );
  return { name: stem, description: String(description).trim() };
}

/** The index as the model reads it: one line a skill. */
export const skillIndex = (skills: readonly Skill[]): Context =>
  context({
    id: "agent.skills",
    kind: "skills",
    source: [
      "Skills. Before work that one of them covers, read it with cave_skill:",
      ...skills.map(({ name, description }) => `- ${name}: ${description.replace(/\s+/g, " ")}`),
    ].join("\n"),
    stability: "build",
  });

/** The tool that reads one skill's body. A name that does not exist is answered with those that do. */
export const skillTool = (skills: readonly Skill[]): Tool =>
  frameworkTool({
    name: "cave_skill",
    description: "Reads the full text of one skill by its name.",
    input: Type.Object({ name: Type.String({ minLength: 1 }) }, { additionalProperties: false }),
    effect: "read",
    execute: async ({ name }) => {
      const skill = skills.find((entry) => entry.name === name);
      if (!skill) return `There is no skill "${name}". Skills: ${skills.map((entry) => entry.name).join(", ")}.`;
      // The link is followed again: the file may have changed since the agent was loaded.
      const text = (await textOf(await insideOf(join(skill.path, ".."), skill.path))) ?? "";
      return text.replace(FRONT_MATTER, "").trim();
    },
  });
