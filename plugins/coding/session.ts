/** A coding session: turns over one conversation, saved after each, with one bill and one set of approvals. */
import { fromDollars, type Money, money, subtract, toNumber } from "../../catalog/money.ts";
import {
  agent,
  type CavemanError,
  type Conversation,
  createConversation,
  CavemanError as Failure,
  type Kernel,
  type Run,
  type RunEvent,
  type RunInput,
  type RunOptions,
  type Started,
  type StopReason,
} from "../../kernel/index.ts";
import { Receipts } from "../services.ts";
import { Aftermath, lost } from "./aftermath.ts";
import { type CodingAgent, workspaceOf } from "./agent.ts";
import { readAgentsMd } from "./agents-md.ts";
import { type Bill, billOf, NOTHING, plus } from "./bill.ts";
import "./command-status.ts";
import { refuse } from "./errors.ts";
import { type Approve, Grants } from "./grants.ts";
import { type SavedSession, SessionFile, sessionId } from "./session-file.ts";
import { readSkills, SKILL_FOLDERS } from "./skills.ts";

type Receipt = ReturnType<Receipts["receiptOf"]>;

/** The events of a turn: those of its run, calls that were refused, and commands that did not end well. */
export type SessionEvent =
  | RunEvent
  | {
      readonly type: "tool_denied";
      readonly toolCallId: string;
      readonly name: string;
      readonly code: string;
      /** Short deny code of the policy, and what came of asking a person, where that decided. */
      readonly reason?: string;
      readonly answer?: string;
    }
  /** A command that ended otherwise than with exit code 0; its `tool_end` follows. */
  | { readonly type: "command_failed"; readonly toolCallId: string; readonly status: string };

export interface SessionOptions {
  /** Runs the turns; with the plugins `receipt`, `pricing` and `policy`. */
  readonly kernel: Kernel;
  /** Run options of every turn. */
  readonly run?: RunOptions;
  /** Dollars that the turns may spend together from now on. Default: no limit. */
  readonly maxUsd?: number;
  /** Asks a person about a call. Without it calls that need a person are refused. */
  readonly approve?: Approve;
  /**
   * Reads AGENTS.md and Agent Skills of the repository. They are its authors' words, not the person's, so they are read
   * only when asked for. Default false. A list names other folders of skills.
   */
  readonly repositoryInstructions?: boolean | { readonly skills: readonly string[] };
  /** Saves the session under `.caveman/sessions` of the workspace. Default true. */
  readonly save?: boolean;
  /** Takes up a saved session: its id or the beginning of it; true for the newest. */
  readonly resume?: string | true;
  readonly onEvent?: (event: SessionEvent) => void;
  /** Told what a person should know: what was cut, left out, or could not be saved. */
  readonly onNotice?: (notice: string) => void;
}

export interface TurnOptions {
  readonly signal?: AbortSignal;
  /** Over the session's own, for this turn. */
  readonly run?: RunOptions;
}

/** How a turn ended. A failed one has its error, and its bill all the same. */
export interface CodingTurn {
  readonly text: string;
  readonly stopReason: StopReason;
  readonly error?: CavemanError;
  readonly receipt: Receipt;
  readonly bill: Bill;
  /** What is left of `maxUsd`, in units of 1e-12 USD. */
  readonly remaining?: Money;
}

const TITLE_CHARACTERS = 80;

export class CodingSession {
  readonly agent: CodingAgent;
  readonly notices: string[] = [];
  /** The AGENTS.md files and skills that were read. */
  readonly repository: { readonly files: readonly string[]; readonly skills: readonly string[] };
  readonly #options: SessionOptions;
  readonly #definition: CodingAgent["definition"];
  readonly #grants = new Grants();
  readonly #max: Money | undefined;
  #file: SessionFile | undefined;
  #state: Omit<SavedSession, "schema" | "conversation" | "totals">;
  #conversation: Conversation;
  #totals: Bill;
  /** What this process spent: what `maxUsd` bounds. */
  #spent = money(0n);
  #running = false;
  #closed = false;
  /** The newest run: for listings of what the session's plugins did. */
  lastRun: Run | undefined;

  /** @internal Use `startSession`. */
  constructor(codingAgent: CodingAgent, options: SessionOptions, start: Start) {
    this.agent = codingAgent;
    this.#options = options;
    this.#definition = start.definition;
    this.repository = start.repository;
    this.#max = options.maxUsd === undefined ? undefined : dollars(options.maxUsd);
    this.#file = start.file;
    this.#state = start.state;
    this.#conversation = start.conversation;
    this.#totals = start.totals;
    for (const notice of start.notices) this.#notice(notice);
  }

  get id(): string {
    return this.#state.id;
  }
  get title(): string {
    return this.#state.title;
  }
  /** Turns that were completed, those before a resume included. */
  get turns(): number {
    return this.#state.turns;
  }
  /** What all turns used and cost, those before a resume included. */
  get totals(): Bill {
    return this.#totals;
  }
  /** What is left of `maxUsd`. */
  get remaining(): Money | undefined {
    return this.#max === undefined ? undefined : subtract(this.#max, this.#spent);
  }
  /** Where it is saved; undefined when it is not. */
  get path(): string | undefined {
    return this.#file?.path;
  }
  get kernel(): Kernel {
    return this.#options.kernel;
  }

  /**
   * One turn: the person's words in, the agent's work, its answer out. A turn that fails or is aborted leaves the
   * conversation as it was; the next one is told what it had done.
   * @throws CavemanError `cave_coding_turn_running`, `cave_coding_session_closed`, `cave_coding_budget_spent`; and what
   * a kernel says of wrong options. A failed run is a result with an error.
   */
  async turn(prompt: string, { signal, run: more = {} }: TurnOptions = {}): Promise<CodingTurn> {
    if (this.#closed) throw new Failure("cave_coding_session_closed");
    if (this.#running) throw new Failure("cave_coding_turn_running");
    const { remaining } = this;
    if (remaining !== undefined && remaining <= 0n) throw new Failure("cave_coding_budget_spent");
    this.#running = true;
    try {
      return await this.#turn(prompt, this.#runOptions(more, signal, remaining));
    } finally {
      this.#running = false;
    }
  }

  #runOptions(more: RunOptions, signal: AbortSignal | undefined, remaining: Money | undefined): RunOptions {
    const { run = {}, approve } = this.#options;
    return {
      rootDir: this.agent.workspace,
      ...run,
      ...more,
      ...(remaining === undefined ? {} : { budget: { ...run.budget, ...more.budget, maxUsd: toNumber(remaining) } }),
      ...(approve ? { approve: this.#grants.asking(approve) } : {}),
      ...(signal ? { signal } : {}),
      conversation: this.#conversation,
    };
  }

  async #turn(prompt: string, options: RunOptions): Promise<CodingTurn> {
    const { aftermath } = this.#state;
    const account = new Aftermath(prompt);
    const input =
      aftermath === undefined
        ? prompt
        : [
            { type: "text" as const, text: aftermath },
            { type: "text" as const, text: prompt },
          ];
    if (this.#state.title === "") this.#state = { ...this.#state, title: oneLine(prompt) };
    // Saved first: whatever becomes of the process, it is known that a turn was under way.
    await this.#save({ running: prompt });
    const { run, done } = await this.#start(input, options, (event) => {
      account.watch(event);
      this.#tell(event);
    });
    this.lastRun = run;
    watchFacts(run, (event) => this.#tell(event));
    const outcome = await done;
    const bill = billOf(run);
    this.#spent = money(this.#spent + bill.spent);
    this.#totals = plus(this.#totals, bill);
    const { aftermath: _, ...state } = this.#state;
    const { error } = outcome;
    this.#state = error
      ? {
          ...state,
          aftermath: account.told(
            outcome.stopReason === "aborted" ? "was stopped by the person" : `failed (${error.code})`,
          ),
        }
      : { ...state, turns: state.turns + 1 };
    await this.#save();
    const { remaining } = this;
    return {
      text: outcome.text,
      stopReason: outcome.stopReason,
      receipt: run.service(Receipts).receiptOf(run),
      bill,
      ...(error ? { error } : {}),
      ...(remaining === undefined ? {} : { remaining }),
    };
  }

  async #start(input: RunInput, options: RunOptions, onEvent: (event: RunEvent) => void): Promise<Started> {
    try {
      return this.kernel.start(this.#definition, input, options, onEvent);
    } catch (error) {
      await this.#save();
      throw error;
    }
  }

  /** Saves it now, under another title if one is given, and says where. @throws CavemanError `cave_coding_session_unsaved`. */
  async save(title?: string): Promise<string> {
    if (title !== undefined && title.trim() !== "") this.#state = { ...this.#state, title: oneLine(title) };
    this.#file ??= await SessionFile.create(this.agent.workspace, this.id);
    await this.#write(this.#file);
    return this.#file.path;
  }

  /** Ends the session: no further turn, and no command of its tools is left. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.agent.close();
  }

  async #save(more: Pick<SavedSession, "running"> = {}): Promise<void> {
    if (!this.#file) return;
    try {
      if (await this.#file.taken()) {
        const id = sessionId(Date.now());
        this.#notice(`session ${this.id} was changed by another process; this one goes on as ${id}`);
        this.#state = { ...this.#state, id };
        this.#file = this.#file.sibling(id);
      }
      await this.#write(this.#file, more);
    } catch (cause) {
      this.#notice(cause instanceof Failure ? cause.message : "the session could not be saved");
    }
  }
  async #write(file: SessionFile, more: Pick<SavedSession, "running"> = {}): Promise<void> {
    const { spent, ...counts } = this.#totals;
    await file.write({
      ...this.#state,
      ...more,
      updatedAt: Date.now(),
      totals: { ...counts, picoUsd: String(spent) },
      conversation: this.#conversation.toJSON(),
    });
  }
  #tell(event: SessionEvent): void {
    try {
      this.#options.onEvent?.(event);
    } catch {
      // Who watches may fail; the turn does not.
    }
  }
  #notice(notice: string): void {
    this.notices.push(notice);
    this.#options.onNotice?.(notice);
  }
}

interface Start {
  readonly definition: CodingAgent["definition"];
  readonly repository: CodingSession["repository"];
  readonly file: SessionFile | undefined;
  readonly state: Omit<SavedSession, "schema" | "conversation" | "totals">;
  readonly conversation: Conversation;
  readonly totals: Bill;
  readonly notices: readonly string[];
}

/**
 * Starts a session, or takes up a saved one.
 * @throws CavemanError `cave_coding_session_unknown`, `cave_coding_session_invalid`, `cave_option_invalid`.
 */
export async function startSession(codingAgent: CodingAgent, options: SessionOptions): Promise<CodingSession> {
  const { resume, save = true } = options;
  const workspace = workspaceOf(codingAgent.workspace);
  if (options.maxUsd !== undefined) dollars(options.maxUsd);
  const opened =
    resume === undefined ? undefined : await SessionFile.open(workspace, resume === true ? undefined : resume);
  const notices: string[] = [];
  const { definition, repository } = await withRepository(codingAgent, options, notices);
  if (opened) {
    const { saved, file } = opened;
    const { schema: _, conversation, totals, running, ...state } = saved;
    const { picoUsd, ...counts } = totals;
    if (running !== undefined)
      notices.push("the last turn of this session was cut off; it goes on from the turn before");
    return new CodingSession(codingAgent, options, {
      definition,
      repository,
      file: save ? file : undefined,
      state: running === undefined ? state : { ...state, aftermath: lost(running) },
      conversation: restored(conversation, file.path),
      totals: { ...counts, spent: money(BigInt(picoUsd)) },
      notices,
    });
  }
  const now = Date.now();
  const id = sessionId(now);
  let file: SessionFile | undefined;
  try {
    if (save) file = await SessionFile.create(workspace, id);
  } catch (cause) {
    notices.push(cause instanceof Failure ? cause.message : "the session cannot be saved");
  }
  const state = { id, title: "", createdAt: now, updatedAt: now, turns: 0 };
  return new CodingSession(codingAgent, options, {
    definition,
    repository,
    file,
    state,
    conversation: createConversation(),
    totals: NOTHING,
    notices,
  });
}

/** A saved conversation without the approvals in it: those are given by a person, not by a file. */
function restored(saved: unknown, path: string): Conversation {
  const { states, ...rest } = (typeof saved === "object" && saved !== null ? saved : {}) as { states?: object };
  const { policy: _, ...others } = (states ?? {}) as Record<string, unknown>;
  try {
    return createConversation({ ...rest, states: others });
  } catch (cause) {
    throw new Failure("cave_coding_session_invalid", {
      place: path,
      received: "a conversation that cannot be read",
      cause,
    });
  }
}

async function withRepository(
  { definition, workspace }: CodingAgent,
  { repositoryInstructions = false }: SessionOptions,
  notices: string[],
): Promise<Pick<Start, "definition" | "repository">> {
  if (!repositoryInstructions) return { definition, repository: { files: [], skills: [] } };
  const folders = typeof repositoryInstructions === "object" ? repositoryInstructions.skills : SKILL_FOLDERS;
  const [agents, skills] = await Promise.all([readAgentsMd(workspace), readSkills(workspace, folders)]);
  notices.push(...agents.notices, ...skills.notices);
  const { id, instructions, model, reasoning, sandbox, memory } = definition;
  return {
    repository: { files: agents.files, skills: skills.names },
    definition: agent({
      id,
      instructions,
      model,
      reasoning,
      sandbox,
      tools: [...definition.tools, ...skills.tools],
      contexts: [...definition.contexts, ...skills.contexts, ...agents.contexts],
      ...(memory ? { memory } : {}),
    }),
  };
}

/** What makes no event of a run, only facts: a refusal (the policy's, and the kernel's right after it), and a command's end. */
function watchFacts(run: Run, tell: (event: SessionEvent) => void): void {
  const decided = new Map<string, { reason?: string; answer?: string }>();
  run.ledger.subscribe((fact) => {
    if (fact.type === "policy.decided" && fact.decision === "deny")
      decided.set(fact.toolCallId, {
        ...(fact.reason === undefined ? {} : { reason: fact.reason }),
        ...(fact.answer === undefined ? {} : { answer: fact.answer }),
      });
    else if (fact.type === "tool.denied") {
      const { toolCallId, name, code } = fact;
      tell({ type: "tool_denied", toolCallId, name, code, ...decided.get(toolCallId) });
    } else if (fact.type === "coding.command_failed")
      tell({ type: "command_failed", toolCallId: fact.toolCallId, status: fact.status });
  });
}

function dollars(maxUsd: number): Money {
  const bad = (): never => refuse("cave_option_invalid", "maxUsd", "a positive number of dollars", String(maxUsd));
  if (typeof maxUsd !== "number" || !Number.isFinite(maxUsd) || maxUsd <= 0) return bad();
  try {
    return fromDollars(maxUsd);
  } catch {
    return bad();
  }
}

const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim().slice(0, TITLE_CHARACTERS);
