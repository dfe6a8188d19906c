/** What one run has of its servers: tools fixed when it starts, and links given back when it ends. */
import { resolve } from "node:path";
import { asCaveman, CavemanError, type Run, type Tool, tool } from "../../kernel/index.ts";
import { Tokenizer } from "../services.ts";
import { topLevel } from "./arguments.ts";
import type { Definition } from "./definition.ts";
import { LockFile } from "./lock.ts";
import { onDemandTools } from "./on-demand.ts";
import { effectOf, type McpOptions, type ServerSpec } from "./options.ts";
import type { Link, Listing, Pool, Watcher } from "./pool.ts";
import { readResult } from "./result.ts";

const OWNER = "mcp";

interface Source {
  readonly link: Link;
  readonly listing: Listing;
}
/** What a list of definitions costs in a prompt. */
interface Weight {
  readonly bytes: number;
  readonly tokens: number;
  readonly basis: "exact" | "modelled" | "estimated";
}

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
    const accepted = this.#accepted(lock, sources);
    this.tools = this.#toolsOf(sources, accepted);
  }

  async #source(spec: ServerSpec, root: string): Promise<Source> {
    const link = this.#pool.acquire(spec, resolve(root, spec.options.cwd ?? "."), this);
    this.#links.push(link);
    return { link, listing: await link.listing() };
  }

  /** Of what the servers list, what a person accepted or what may be trusted on first use. Says what is refused. */
  #accepted(lock: LockFile, sources: readonly Source[]): ReadonlySet<Definition> {
    const accepted = new Set<Definition>();
    const trusted: Definition[] = [];
    const refused: Definition[] = [];
    for (const { link, listing } of sources) {
      for (const { tool: name, why } of listing.unfit)
        this.#refuse(link.spec.name, name, "cave_mcp_definition_invalid", why);
      for (const definition of listing.definitions) {
        const standing = lock.standing(definition);
        const onFirstUse = standing === "unseen" && this.#options.firstUse === "pin";
        if (standing === "accepted" || onFirstUse) accepted.add(definition);
        if (onFirstUse) trusted.push(definition);
        if (standing === "accepted" || onFirstUse) continue;
        refused.push(definition);
        const why = {
          changed: "it is not the definition that was accepted",
          added: "the server did not have it when it was accepted",
          unseen: "nobody has accepted it",
        }[standing];
        this.#refuse(link.spec.name, definition.tool, "cave_mcp_definition_changed", why);
      }
      this.#unmatched(link.spec, listing);
    }
    lock.learn(trusted, refused);
    return accepted;
  }

  #refuse(server: string, name: string, code: string, why: string): void {
    this.#run.notice(OWNER, code, `${server}: the tool ${JSON.stringify(name)} is left out: ${why}.`);
  }
  /** A name in the configuration that the server does not list is a mistake worth a word. */
  #unmatched({ name, options }: ServerSpec, { definitions, unfit }: Listing): void {
    const listed = new Set([...definitions, ...unfit].map((entry) => entry.tool));
    const named = [...(options.tools ?? []), ...Object.keys(options.effects ?? {})].filter((tool) => tool !== "*");
    for (const tool of new Set(named)) {
      if (!listed.has(tool))
        this.#run.notice(
          OWNER,
          "cave_mcp_server_invalid",
          `${name}: the configuration names the tool ${JSON.stringify(tool)}, which the server does not list.`,
        );
    }
  }

  #toolsOf(sources: readonly Source[], accepted: ReadonlySet<Definition>): Tool[] {
    const shown = sources.map(({ link, listing }) => ({
      link,
      definitions: listing.definitions.filter((one) => accepted.has(one)),
      refused: listing.unfit.length,
    }));
    const weights = new Map(shown.map((source) => [source, this.#weigh(source.definitions)]));
    const heavy =
      shown
        .filter(({ link }) => (link.spec.options.load ?? "auto") === "auto")
        .reduce((sum, source) => sum + (weights.get(source)?.tokens ?? 0), 0) > this.#options.deferAboveTokens;
    const inPrompt: Tool[] = [];
    const deferred: { definition: Definition; made: Tool }[] = [];
    for (const source of shown) {
      const { link, definitions } = source;
      const { load = "auto" } = link.spec.options;
      const onDemand = load === "on_demand" || (load === "auto" && heavy);
      for (const definition of definitions) {
        const made = this.#tool(link, definition);
        if (onDemand) deferred.push({ definition, made });
        else inPrompt.push(made);
      }
      const listed = (sources.find((one) => one.link === link)?.listing.definitions.length ?? 0) + source.refused;
      const weight = weights.get(source);
      if (weight)
        this.#run.record("mcp.server", {
          server: link.spec.name,
          tools: definitions.length,
          refused: listed - definitions.length,
          loading: onDemand ? "on_demand" : "prompt",
          schemaBytes: weight.bytes,
          schemaTokens: weight.tokens,
          tokenBasis: weight.basis,
        });
    }
    return deferred.length === 0
      ? inPrompt
      : [
          ...inPrompt,
          ...onDemandTools(
            deferred.map(({ definition }) => definition),
            deferred.map(({ made }) => made),
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
