/** The rows of the error table that coding agents and their sessions own. */
import { CavemanError, defineErrors } from "../../kernel/index.ts";

export const errors = defineErrors({
  cave_coding_workspace_invalid: {
    meaning: "The workspace of a coding agent is not a folder that can be read.",
    remedy: "Pass an existing folder.",
  },
  cave_coding_session_unknown: {
    meaning: "There is no saved session of that name in this workspace.",
    remedy: "Leave the name out for the newest one, or start a new session.",
  },
  cave_coding_session_invalid: {
    meaning: "A saved session cannot be taken up again.",
    remedy: "Start a new session, or delete the named file.",
  },
  cave_coding_session_unsaved: {
    meaning: "The session cannot be saved.",
    remedy: "Make .caveman/sessions a folder of yours that can be written; the session itself goes on.",
  },
  cave_coding_turn_running: {
    meaning: "A turn of this session is still running.",
    remedy: "Await it, or abort it, before the next.",
  },
  cave_coding_session_closed: { meaning: "This session is closed.", remedy: "Start or resume another one." },
  cave_coding_budget_spent: {
    meaning: "Nothing is left of what the session may spend.",
    remedy: "Resume it with a higher limit.",
  },
});

export type Code = keyof typeof errors;

export function refuse(code: Code | "cave_option_invalid", place: string, expected: string, received: string): never {
  throw new CavemanError(code, { place, expected, received });
}
