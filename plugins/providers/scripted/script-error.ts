/** The failures of a script itself, as opposed to the failures it scripts. */
import { CavemanError, defineErrors } from "../../../kernel/errors.ts";

defineErrors({
  cave_script_invalid: {
    meaning: "a model script has the wrong shape",
    remedy: "Correct the named place of the script.",
  },
  cave_script_exhausted: {
    meaning: "the model was called more often than its script has steps",
    remedy: "Add a step, pass a function instead of a list, or find the call that was not expected.",
  },
});

/** `cave_script_invalid` or `cave_script_exhausted`. */
export class ScriptError extends CavemanError {
  override readonly name = "ScriptError";
}
