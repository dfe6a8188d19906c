/** What the calls of one shellTools() share: its options, file workers, commands, and how a result is delivered. */
import { realpath } from "node:fs/promises";
import { CavemanError } from "../../kernel/index.ts";
import { StoredOutputs } from "../services.ts";
import { boundOf, Stamps } from "./binding.ts";
import type { ExecutionBackend } from "./commands/backend.ts";
import { environment } from "./commands/environment.ts";
import { LiveOutput } from "./commands/live-output.ts";
import { localBackend } from "./commands/local.ts";
import { CommandSessions } from "./commands/sessions.ts";
import { FileWorkers } from "./files/file-worker.ts";
import type { Seen, Stamp } from "./files/protocol.ts";
import type { Settled, ShellToolName } from "./options.ts";
import { capped } from "./output-cap.ts";

export class Shell {
  readonly options: Settled;
  readonly files: FileWorkers;
  readonly backend: ExecutionBackend;
  readonly sessions: CommandSessions;
  /** What was read, where no run is known. */
  readonly #stamps = new Stamps();
  readonly #live = new Map<string, LiveOutput>();

  constructor(options: Settled) {
    this.options = options;
    this.files = new FileWorkers(options.workspace, options.hardLinks);
    this.backend = options.executionBackend ?? localBackend();
    this.sessions = new CommandSessions({
      env: environment(options.env),
      output: (id, chunk) => this.#live.get(id)?.push(chunk),
    });
  }

  /** The workspace's real path. @throws CavemanError `cave_workspace_invalid`. */
  async root(): Promise<string> {
    try {
      return await realpath(this.options.workspace);
    } catch (cause) {
      throw new CavemanError("cave_workspace_invalid", { received: JSON.stringify(this.options.workspace), cause });
    }
  }

  /** Shows the output of a started command to the person. */
  show(command: string, toolCallId: string): void {
    if (this.options.onOutput) this.#live.set(command, new LiveOutput(toolCallId, this.options.onOutput));
  }

  seenBy(input: object): Seen {
    return (boundOf(input)?.stamps ?? this.#stamps).seen;
  }
  note(input: object, stamp: Stamp): void {
    (boundOf(input)?.stamps ?? this.#stamps).note(stamp);
  }

  /** A result under its tool's cap; the whole is kept for paging when it is cut. `total` is what there was in all. */
  deliver(tool: ShellToolName, input: object, text: string | Buffer, total?: number): string {
    const bytes = this.options.caps[tool];
    const whole = typeof text === "string" ? Buffer.from(text) : text;
    const handle = whole.length > bytes ? keepWhole(input, whole, tool) : undefined;
    return capped(whole, {
      bytes,
      ...(total === undefined ? {} : { total }),
      ...(handle === undefined ? {} : { handle }),
    });
  }
}

/** Keeps a whole text where the model can page it, when it has the tool for that. */
function keepWhole(input: object, text: Buffer, toolName: string): string | undefined {
  const run = boundOf(input)?.run;
  const store = run?.tools.has("read_tool_output") ? run.find(StoredOutputs) : undefined;
  return store?.keep(text.toString("utf8"), toolName);
}
