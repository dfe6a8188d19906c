/** Where skills are looked for, from the workspace; the first of a name counts. */
export const SKILL_FOLDERS: readonly string[] = [".agents/skills", ".claude/skills"];
