/** What one run has of its servers: tools fixed when it starts, and links given back when it ends. */
import { resolve } from "node:path";
import { asCaveman, CavemanError, type Run, type Tool, tool } from "../../kernel/index.ts";
import { Tokenizer } from "../services.ts";
import { topLevel } from "./arguments.ts";
import type { Definition } from "./definition.ts";
import { effectOf } from "./effects.ts";
import { LockFile } from "./lock.ts";
import { onDemandTools } from "./on-demand.ts";
import type { McpOptions, ServerSpec } from "./options.ts";
import type { Link, Listing, Pool, Watcher } from "./pool.ts";
import { quoted, Refusals } from "./refusals.ts";
import { readResult } from "./result.ts";

const OWNER = "mcp";

interface Source {
  readonly link: Link;
  readonly listing: Listing;
}
/** What of a server a run offers its model. */
interface Offer {
  readonly link: Link;
  readonly definitions: readonly Definition[];
  readonly refused: number;
  readonly weight: Weight;
}
/** What a list of definitions costs in a prompt. */
interface Weight {
  readonly bytes: number;
  readonly tokens: number;
  readonly basis: "exact" | "modelled" | "estimated";
}

const WHY = {
  changed: "not the definition that was accepted",
  added: "the server did not have it when it was accepted",
  unseen: "nobody has accepted it",
} as const;

export class Session implements Watcher {
  readonly #run: Run;
  readonly #options: McpOptions;
  readonly #pool: Pool;
  readonly #links: Link[] = [];
  readonly #told = new Set<string>();
  tools: readonly Tool[] = [];

  constructor(run: Run, options: McpOptions, pool: Pool) {
    this.#run = run;
    this.#options = options;
    this.#pool = pool;
  }

  /** Starts the servers and fixes the tools. @throws CavemanError for a server that is needed and not to be had. */
  async prepare(specs: readonly ServerSpec[]): Promise<void> {
    const root = this.#run.options.rootDir ?? process.cwd();
    const lock = new LockFile(resolve(root, this.#options.lockFile));
    const found = await Promise.allSettled(specs.map((spec) => this.#source(spec, root)));
    const sources: Source[] = [];
    for (const [index, result] of found.entries()) {
      const spec = specs[index];
      if (result.status === "fulfilled") sources.push(result.value);
      else {
        const error = asCaveman(result.reason, "cave_mcp_server_unavailable", { place: `mcp.servers.${spec?.name}` });
        if (spec?.options.optional !== true) throw error;
        this.#run.notice(OWNER, error.code, error.message);
      }
    }
    this.tools = this.#toolsOf(this.#offers(lock, sources));
  }

  async #source(spec: ServerSpec, root: string): Promise<Source> {
    const link = this.#pool.acquire(spec, resolve(root, spec.options.cwd ?? "."), this);
    this.#links.push(link);
    return { link, listing: await link.listing() };
  }

  /** Of what the servers list, what a person accepted or what may be trusted on first use. Says what is left out. */
  #offers(lock: LockFile, sources: readonly Source[]): Offer[] {
    const trusted: Definition[] = [];
    const refused: Definition[] = [];
    const offers = sources.map(({ link, listing }): Offer => {
      const left = new Refusals();
      for (const { tool: name, why } of listing.unfit) left.add("cave_mcp_definition_invalid", why, name);
      const definitions = listing.definitions.filter((definition) => {
        const standing = lock.standing(definition);
        if (standing === "accepted") return true;
        if (standing === "unseen" && this.#options.firstUse === "pin") {
          trusted.push(definition);
          return true;
        }
        refused.push(definition);
        left.add("cave_mcp_definition_changed", WHY[standing], definition.tool);
        return false;
      });
      for (const { code, message } of left.notices(link.spec.name)) this.#run.notice(OWNER, code, message);
      this.#unmatched(link.spec, listing);
      return { link, definitions, refused: left.count, weight: this.#weigh(definitions) };
    });
    lock.learn(trusted, refused);
    return offers;
  }

  /** A name in the configuration that the server does not list is a mistake worth a word. */
  #unmatched({ name, options }: ServerSpec, { definitions, unfit }: Listing): void {
    const listed = new Set([...definitions, ...unfit].map((entry) => entry.tool));
    const named = [...(options.tools ?? []), ...Object.keys(options.effects ?? {})];
    const missing = [...new Set(named)].filter((tool) => tool !== "*" && !listed.has(tool));
    if (missing.length === 0) return;
    const message = `${name}: the configuration names ${quoted(missing)}, which the server does not list.`;
    this.#run.notice(OWNER, "cave_mcp_server_invalid", message);
  }

  /** Definitions stand in the prompt until they weigh too much; then they are found by search. */
  #toolsOf(offers: readonly Offer[]): Tool[] {
    const loadOf = ({ link }: Offer): string => link.spec.options.load ?? "auto";
    const weight = offers.reduce((sum, offer) => sum + (loadOf(offer) === "auto" ? offer.weight.tokens : 0), 0);
    const otherwise = weight > this.#options.deferAboveTokens ? "on_demand" : "always";
    const inPrompt: Tool[] = [];
    const found: { definition: Definition; made: Tool }[] = [];
    for (const offer of offers) {
      const { link, definitions, refused } = offer;
      const load = loadOf(offer) === "auto" ? otherwise : loadOf(offer);
      for (const definition of definitions) {
        const made = this.#tool(link, definition);
        if (load === "on_demand") found.push({ definition, made });
        else inPrompt.push(made);
      }
      this.#run.record("mcp.server", {
        server: link.spec.name,
        tools: definitions.length,
        refused,
        loading: load === "on_demand" ? "on_demand" : "prompt",
        schemaBytes: offer.weight.bytes,
        schemaTokens: offer.weight.tokens,
        tokenBasis: offer.weight.basis,
      });
    }
    if (found.length === 0) return inPrompt;
    const definitions = found.map(({ definition }) => definition);
    return [
      ...inPrompt,
      ...onDemandTools(
        definitions,
        found.map(({ made }) => made),
      ),
    ];
  }

  #weigh(definitions: readonly Definition[]): Weight {
    const size = definitions.reduce((sum, { bytes }) => sum + bytes, 0);
    const tokenizer = this.#run.find(Tokenizer);
    // Four bytes a token is what schemas come to; without a tokenizer it only decides where definitions are kept.
    if (!tokenizer) return { bytes: size, tokens: Math.ceil(size / 4), basis: "estimated" };
    const text = definitions
      .map(({ name, description, inputSchema }) => JSON.stringify({ name, description, inputSchema }))
      .join("\n");
    return { bytes: size, tokens: tokenizer.count(text), basis: tokenizer.identity.exactness };
  }

  #tool(link: Link, definition: Definition): Tool {
    const { spec } = link;
    return tool({
      name: definition.name,
      description: definition.description,
      input: topLevel(definition.inputSchema),
      inputJSONSchema: definition.inputSchema,
      effect: effectOf(spec.options, definition.tool, definition.hints),
      timeoutMs: spec.timeoutMs,
      execute: async (input, { signal }) => {
        const { text, isError } = readResult(await link.call(definition, input, signal), spec.maxOutputBytes);
        if (isError)
          throw new CavemanError("cave_mcp_tool_failed", {
            message: text === "" ? "The server says that the call failed" : text,
          });
        return text;
      },
    });
  }

  listChanged(server: string): void {
    this.#once(
      `list ${server}`,
      "cave_mcp_list_changed",
      `${server} says that its tools changed; this run keeps those it started with, and a call of one that is another now is refused.`,
    );
  }
  refused(server: string, method: string): void {
    this.#once(`${server} ${method}`, "cave_mcp_request_refused", `${server} asked for ${method}, and was refused.`);
  }
  #once(key: string, code: string, message: string): void {
    if (this.#told.has(key) || this.#run.outcome) return;
    this.#told.add(key);
    this.#run.notice(OWNER, code, message);
  }

  /** Gives every link back; a server nobody else uses is closed. */
  async close(): Promise<void> {
    await Promise.all(this.#links.splice(0).map((link) => this.#pool.release(link, this)));
  }
}
