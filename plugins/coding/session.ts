/** A coding session: turns over one conversation, saved after each, with one bill and one set of approvals. */
import { type Money, money, subtract, toNumber } from "../../catalog/money.ts";
import {
  type AgentDefinition,
  CavemanError,
  type Conversation,
  type Kernel,
  type Run,
  type RunEvent,
  type RunInput,
  type RunOptions,
  type Started,
  type StopReason,
} from "../../kernel/index.ts";
import { Receipts } from "../services.ts";
import { Aftermath } from "./aftermath.ts";
import type { CodingAgent } from "./agent.ts";
import { type Bill, billOf, plus } from "./bill.ts";
import { Grants } from "./grants.ts";
import { type SessionEvent, watchFacts } from "./session-events.ts";
import { type SavedSession, SessionFile, sessionId } from "./session-file.ts";
import { dollars, type SessionOptions, type Start } from "./session-options.ts";

type Receipt = ReturnType<Receipts["receiptOf"]>;

/** Options of one turn. */
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

/** Turns over one conversation, one at a time, with their bill and a person's approvals; saved after each. */
export class CodingSession {
  readonly agent: CodingAgent;
  readonly notices: string[] = [];
  /** The AGENTS.md files and skills that were read. */
  readonly repository: Start["repository"];
  readonly #options: SessionOptions;
  readonly #definition: AgentDefinition;
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
    if (this.#closed) throw new CavemanError("cave_coding_session_closed");
    if (this.#running) throw new CavemanError("cave_coding_turn_running");
    const { remaining } = this;
    if (remaining !== undefined && remaining <= 0n) throw new CavemanError("cave_coding_budget_spent");
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
      this.#notice(cause instanceof CavemanError ? cause.message : "the session could not be saved");
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

const oneLine = (text: string): string => text.replace(/\s+/g, " ").trim().slice(0, TITLE_CHARACTERS);
