/**
 * Tools whose definitions stay out of the prompt. Two fixed tools stand for all of them: one finds definitions, one
 * calls a tool by name. The tool list of a run so never changes, and neither does the prefix that a provider caches;
 * the call inside is admitted under the real tool's name, with its own effect, like every nested call.
 */
import { Type } from "@sinclair/typebox";
import { CavemanError, type Effect, frameworkTool, nearest, type Tool } from "../../kernel/index.ts";
import type { Definition } from "./definition.ts";
import { ToolIndex } from "./tool-index.ts";

export const SEARCH_TOOL = "cave_search_tools";
export const CALL_TOOL = "cave_call_tool";
export const MAX_HITS = 4;
export const MAX_RESULT_CHARS = 8_192;
/** Characters of tool names in the search tool's description. */
const MAX_NAMES_CHARS = 1_200;
const HIT_DESCRIPTION = 1_024;

export function onDemandTools(definitions: readonly Definition[], tools: readonly Tool[]): Tool[] {
  let index: ToolIndex | undefined;
  const names = new Set(tools.map(({ name }) => name));
  const search = frameworkTool({
    name: SEARCH_TOOL,
    description: `Finds tools by what they do and shows their input schemas; then call one with ${CALL_TOOL}. ${inventory(definitions)}`,
    input: Type.Object({ query: Type.String({ description: "a few words: what the tool should do" }) }),
    effect: "read",
    // A schema that something shortened is a schema that misleads.
    result: "inline",
    execute: ({ query }) => {
      if (query.trim() === "") throw new CavemanError("cave_tool_search_query_required");
      index ??= new ToolIndex(definitions);
      return shown(index.search(query));
    },
  });
  const call = frameworkTool({
    name: CALL_TOOL,
    description: `Calls a tool that ${SEARCH_TOOL} found.`,
    input: Type.Object({
      name: Type.String({ description: "the tool's name, as the search gave it" }),
      arguments: Type.Optional(
        Type.Record(Type.String(), Type.Unknown(), { description: "what its input schema asks for" }),
      ),
    }),
    effect: strongest(tools),
    nestedTools: tools,
    // The tool inside has its own limit; the one around it only has to outlive that.
    timeoutMs: Math.max(...tools.map(({ timeoutMs }) => timeoutMs)) + 10_000,
    execute: ({ name, arguments: input = {} }, context) => {
      if (names.has(name)) return context.call(name, input).catch(onceCoded);
      const meant = nearest(name, names);
      throw new CavemanError("cave_unknown_tool", {
        message: `No tool has this name${meant ? `; did you mean ${meant}?` : ""}`,
        remedy: `Find its name with ${SEARCH_TOOL}.`,
      });
    },
  });
  return [search, call];
}

/** A failed call inside comes back as a text that begins with its code; the call around it would put the code twice. */
function onceCoded(error: unknown): never {
  if (!(error instanceof CavemanError)) throw error;
  const { code, detail } = error;
  const said = detail.message?.startsWith(`${code}: `) ? detail.message.slice(code.length + 2) : undefined;
  throw said === undefined ? error : new CavemanError(code, { message: said.replace(/\.$/, ""), remedy: "" });
}

/** What there is to be found: servers, how many tools, and as many names as fit. */
function inventory(definitions: readonly Definition[]): string {
  const counts = new Map<string, number>();
  for (const { server } of definitions) counts.set(server, (counts.get(server) ?? 0) + 1);
  const servers = [...counts].map(([server, count]) => `${server} (${count})`).join(", ");
  const names: string[] = [];
  let length = 0;
  for (const { name } of definitions) {
    if ((length += name.length + 2) > MAX_NAMES_CHARS) break;
    names.push(name);
  }
  const rest = definitions.length - names.length;
  return `Servers and their tools: ${servers}. Names: ${names.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}.`;
}

/** At most so many hits in so many characters; a schema that alone is too long is left out, and that is said. */
function shown(found: readonly Definition[]): string {
  const hits: object[] = [];
  const answer = (): string => JSON.stringify({ tools: hits, found: found.length });
  for (const { name, description, inputSchema } of found.slice(0, MAX_HITS)) {
    const short =
      description.length > HIT_DESCRIPTION ? `${description.slice(0, HIT_DESCRIPTION)}…`.toWellFormed() : description;
    hits.push({ name, description: short, input_schema: inputSchema });
    if (answer().length <= MAX_RESULT_CHARS) continue;
    hits.pop();
    hits.push({
      name,
      description: short,
      input_schema: null,
      omitted: "cave_tool_search_result_limit: search for this tool's name alone, or call it and read what is wrong",
    });
    if (answer().length <= MAX_RESULT_CHARS) continue;
    hits.pop();
    break;
  }
  return answer();
}

const STRENGTH: readonly Effect[] = ["read", "idempotent", "write", "external"];
const strongest = (tools: readonly Tool[]): Effect =>
  tools.reduce<Effect>(
    (most, { effect }) => (STRENGTH.indexOf(effect) > STRENGTH.indexOf(most) ? effect : most),
    "read",
  );
