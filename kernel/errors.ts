/**
 * Coded errors. Every failure a user can meet has a code; every code has one row that says what it means and
 * what to do. The kernel declares its rows here, a plugin declares its own with `defineErrors`; together they are
 * the one table that `caveman explain <code>` prints.
 */

/** One row of the error table. */
export interface ErrorRow {
  /** What happened, in one sentence. */
  readonly meaning: string;
  /** What the reader does about it. */
  readonly remedy: string;
}

const table = new Map<string, ErrorRow>();

/**
 * Adds rows to the error table. A code is declared once and never reused.
 * @throws CavemanError `cave_error_code_duplicate` when another row already owns the code.
 */
export function defineErrors<const T extends Record<string, ErrorRow>>(rows: T): T {
  for (const [code, row] of Object.entries(rows)) {
    const present = table.get(code);
    if (present && (present.meaning !== row.meaning || present.remedy !== row.remedy)) {
      throw new CavemanError("cave_error_code_duplicate", { received: code });
    }
    table.set(code, row);
  }
  return rows;
}

/** The row of a code, or undefined for a code nobody declared. */
export const errorRow = (code: string): ErrorRow | undefined => table.get(code);

/** Every declared code, sorted. */
export const errorCodes = (): readonly string[] => [...table.keys()].sort();

/** What an error says beside its code. Content of prompts, tool arguments and credentials never goes in here. */
export interface ErrorDetail {
  /** Where: an option path, a file, a plugin and hook. */
  readonly place?: string | undefined;
  /** What would have been right. */
  readonly expected?: string | undefined;
  /** What came instead. */
  readonly received?: string | undefined;
  /** Replaces the row's meaning in the message. */
  readonly message?: string | undefined;
  /** Replaces the row's remedy. */
  readonly remedy?: string | undefined;
  readonly cause?: unknown;
}

/** A coded error: says where, what was expected, what came, and what to do. */
export class CavemanError extends Error {
  override readonly name: string = "CavemanError";
  readonly code: string; readonly detail: ErrorDetail;

  constructor(code: string, detail: ErrorDetail = {}) {
    super(explain(code, detail), detail.cause === undefined ? undefined : { cause: detail.cause });
    this.code = code; this.detail = detail;
  }

  /** What the reader does about it. */
  get remedy(): string | undefined { return this.detail.remedy ?? table.get(this.code)?.remedy; }
}

function explain(code: string, detail: ErrorDetail): string {
  const row = table.get(code);
  const parts = [`${code}: ${(detail.message ?? row?.meaning ?? "an undeclared failure").replace(/\.$/, "")}`];
  if (detail.place) parts.push(`at ${detail.place}`);
  if (detail.expected) parts.push(`expected ${detail.expected}`);
  if (detail.received) parts.push(`received ${detail.received}`);
  const remedy = detail.remedy ?? row?.remedy;
  const said = parts.join("; ").replace(/\.$/, "");
  return remedy ? `${said}. ${remedy}` : `${said}.`;
}

/** The code of anything thrown: its own, or `fallback` for a foreign value. */
export const codeOf = (error: unknown, fallback: string): string => (isCoded(error) ? error.code : fallback);

/** Whether an error is one of ours; a thrown proxy may throw when it is looked at. */
function isCoded(error: unknown): error is CavemanError {
  try {
    return error instanceof CavemanError;
  } catch {
    return false;
  }
}

/** A short, safe description of anything thrown. */
export const describe = (error: unknown): string => {
  try {
    // Read by shape: an error of another realm is no instance of this one's Error.
    const said = typeof error === "object" && error !== null ? (error as { message?: unknown }).message : error;
    const text = typeof said === "string" ? said : `a thrown ${error === null ? "null" : typeof error}`;
    return text.length > 2_000 ? `${text.slice(0, 2_000)}…` : text;
  } catch {
    return "an unreadable thrown value";
  }
};

/** Gives back a coded error unchanged and wraps anything else under `code`. */
export const asCaveman = (error: unknown, code: string, detail: ErrorDetail = {}): CavemanError =>
  isCoded(error) ? error : new CavemanError(code, { received: describe(error), cause: error, ...detail });

/** The known name nearest to a mistyped one, when one is near enough to be meant (edit distance ≤ 3). */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = 4;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 3) return 4;
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    let left = i;
    row = row.map((up, j) => (j === 0 ? i : (left = Math.min(up + 1, left + 1, (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)))));
  }
  return row[b.length] ?? 4;
}

/** The kernel's own rows. */
export const kernelErrors = defineErrors({
  cave_error_code_duplicate: { meaning: "Two places declare one error code.", remedy: "Give one of them another code." },
  cave_plugin_invalid: { meaning: "A plugin is not well formed.", remedy: "Build it with definePlugin({ name, apply })." },
  cave_plugin_duplicate: { meaning: "Two plugins share one name.", remedy: "Remove one, or rename it." },
  cave_plugin_missing: { meaning: "A plugin needs another that is not loaded.", remedy: "Add the missing plugin to the list." },
  cave_plugin_order: { meaning: "Plugins or taps cannot be put in order.", remedy: "Correct the before/after names so that they exist and form no circle." },
  cave_plugin_failed: { meaning: "A plugin threw, timed out or gave an answer that cannot be read.", remedy: "See the cause, and correct or remove the plugin." },
  cave_adapter_cannot_enforce: { meaning: "A plugin needs a hook that this loop cannot drive.", remedy: "Remove the plugin, or run the agent with run() or stream()." },
  cave_option_invalid: { meaning: "An option is unknown or has a wrong value.", remedy: "Correct it; the message names the place." },
  cave_service_missing: { meaning: "No plugin provides a service that was asked for.", remedy: "Add the plugin that provides it." },
  cave_service_duplicate: { meaning: "Two plugins provide one service.", remedy: "Keep one of them." },
  cave_kernel_frozen: { meaning: "The kernel is assembled and cannot be changed.", remedy: "Tap hooks and provide services inside apply()." },
  cave_hold_closed: { meaning: "A hold was taken or closed on a call that is already closed.", remedy: "Take holds inside the reserve or admitTool tap, and close each once." },
  cave_allowance_raised: { meaning: "A tap tried to raise the output allowance.", remedy: "Taps may only lower it." },
  cave_executor_duplicate: { meaning: "Two taps chose an executor for one tool call.", remedy: "Keep one executor plugin." },
  cave_agent_definition_invalid: { meaning: "An agent definition is wrong.", remedy: "Correct the named field." },
  cave_tool_definition_invalid: { meaning: "A tool definition is wrong.", remedy: "Correct the named field." },
  cave_duplicate_tool_name: { meaning: "Two tools of one agent share a name.", remedy: "Rename one of them." },
  cave_reserved_tool_name: { meaning: "Tool names that begin with cave_ belong to the framework.", remedy: "Choose another name." },
  cave_nested_tool_invalid: { meaning: "A nested tool breaks the rules of composite tools.", remedy: "Keep nested tools flat, and effects no stronger than their parent's." },
  cave_schema_invalid: { meaning: "A schema cannot be used.", remedy: "Pass a TypeBox schema, or a Standard Schema with inputJSONSchema." },
  cave_file_unreadable: { meaning: "A file that a definition names cannot be read.", remedy: "Check the path; it is resolved from rootDir." },
  cave_input_invalid: { meaning: "The input of a run is neither text nor parts.", remedy: "Pass a string or an array of text, image and file parts." },
  cave_model_missing: { meaning: "No plugin resolved a model for the call.", remedy: "Add the providers plugin or pass a LanguageModelV4 object as model." },
  cave_model_invalid: { meaning: "A value is not a language model.", remedy: "Pass a LanguageModelV4 object or a provider/model name." },
  cave_provider_failed: { meaning: "The provider ended the call in failure.", remedy: "See the cause; add the retry plugin for passing faults." },
  cave_provider_incomplete: { meaning: "The provider's stream ended without a completion signal.", remedy: "Try again; the spend so far is on the receipt." },
  cave_run_aborted: { meaning: "The run was aborted.", remedy: "Nothing to do; the receipt shows what was spent." },
  cave_stream_cancelled: { meaning: "The stream's reader went away.", remedy: "Nothing to do; the receipt shows what was spent." },
  cave_run_stopping: { meaning: "The run is stopping, so the tool was not started.", remedy: "Answer with what is known." },
  cave_run_closed: { meaning: "The run is already settled.", remedy: "Open a new run." },
  cave_speculation_denied: { meaning: "A read was not made ahead of its turn.", remedy: "Nothing to do: it is made when its turn comes." },
  cave_unknown_tool: { meaning: "No tool has this name.", remedy: "Call one of the declared tools." },
  cave_tool_arguments_invalid: { meaning: "The arguments do not fit the tool's input schema.", remedy: "Call again with arguments that fit." },
  cave_tool_result_invalid: { meaning: "The tool's result does not fit its output schema.", remedy: "Correct the tool; its raw value was withheld." },
  cave_tool_result_unserializable: { meaning: "The tool's result cannot be written as JSON.", remedy: "Return plain data." },
  cave_tool_timeout: { meaning: "The tool ran longer than its time limit.", remedy: "Raise timeoutMs, or make the tool faster." },
  cave_tool_failed: { meaning: "The tool threw.", remedy: "See the message; correct the arguments or the tool." },
  cave_subagent_failed: { meaning: "A child run failed.", remedy: "See the child's receipt under the parent's." },
  cave_subagent_arguments_invalid: { meaning: "A subagent takes { task: string }.", remedy: "Pass one task as text." },
  cave_output_schema_mismatch: { meaning: "The answer does not fit the output schema, also after one repair turn.", remedy: "Simplify the schema or the instructions." },
  cave_conversation_invalid: { meaning: "This is not a conversation, or its saved form is damaged.", remedy: "Make one with createConversation()." },
  cave_conversation_in_use: { meaning: "The conversation is already driving a run.", remedy: "Wait for that run to end." },
  cave_transcript_illegal: { meaning: "A view has an orphan tool call or tool result.", remedy: "Keep a tool call and its result together." },
});
