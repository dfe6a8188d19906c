/** The rows of the error table that an agent directory owns, and how they are thrown. */
import { CavemanError, defineErrors, describe } from "../../kernel/errors.ts";

export const agentDirErrors = defineErrors({
  cave_agent_dir_invalid: {
    meaning: "An agent directory is not laid out as the convention says.",
    remedy: "Correct the named file; instructions.md is the one file every agent directory has.",
  },
  cave_agent_dir_config_invalid: {
    meaning: "An agent.ts says something that an agent directory does not know.",
    remedy: "Correct the named key of its default export.",
  },
  cave_agent_dir_load_failed: {
    meaning: "A file of an agent directory cannot be loaded.",
    remedy: "See the cause, and correct the file.",
  },
  cave_skill_invalid: {
    meaning: "A skill file is not well formed.",
    remedy: "Begin it with front matter that gives name, equal to the file's name, and description, both as text.",
  },
});

type Code = keyof typeof agentDirErrors;

/** Throws a coded error that names the file. */
export function refuse(code: Code, place: string, expected: string, received: string, remedy?: string): never {
  throw new CavemanError(code, { place, expected, received, ...(remedy === undefined ? {} : { remedy }) });
}

/** A foreign failure while a file was read or imported; a coded error passes through unchanged. */
export const loadFailure = (file: string, cause: unknown): CavemanError =>
  cause instanceof CavemanError
    ? cause
    : new CavemanError("cave_agent_dir_load_failed", { place: file, received: describe(cause), cause });
