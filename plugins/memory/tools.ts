/** The model's own hands on memory: keep, find, find in earlier sessions. */
import { Type } from "@sinclair/typebox";
import { CavemanError, frameworkTool, type Tool } from "../../kernel/index.ts";
import type { MemoryEngine } from "./engine.ts";
import type { MemoryHit } from "./recall.ts";
import type { MemoryRecord } from "./record.ts";

const REMEMBER = "cave_memory_remember";

export function memoryTools(engine: () => MemoryEngine): Tool[] {
  return [
    frameworkTool({
      name: "cave_memory_search",
      description:
        "Finds facts kept in memory by a topic query, or reads one whole by its id. Gives none when none is relevant. They may be out of date.",
      input: Type.Object({
        query: Type.Optional(Type.String({ minLength: 1 })),
        id: Type.Optional(Type.String({ minLength: 1, description: "mem_…, instead of query." })),
      }),
      effect: "read",
      execute: async ({ query, id }) => {
        if (id !== undefined) return { ...recordAsRead(await engine().read(id)), namespace: engine().scope.namespace };
        if (query === undefined)
          throw new CavemanError("cave_tool_arguments_invalid", { expected: "query or id", received: "neither" });
        const { hits, basis, namespace } = await engine().search(query);
        return { hits: hits.map(asRead), basis, namespace };
      },
    }),
    frameworkTool({
      name: REMEMBER,
      description:
        "Keeps one lasting fact for later sessions, in a sentence or two. Never a secret. Give supersedes, the id of an outdated fact, to replace it.",
      input: Type.Object({ text: Type.String({ minLength: 1 }), supersedes: Type.Optional(Type.String()) }),
      effect: "write",
      execute: async ({ text, supersedes }) => {
        const record = supersedes ? await engine().supersede(supersedes, text) : await engine().remember(text);
        return { id: record.id, ...(record.supersedes ? { supersedes: record.supersedes } : {}), basis: "inferred" };
      },
    }),
    frameworkTool({
      name: "cave_memory_search_sessions",
      description: "Finds turns of earlier sessions with this user by a topic query.",
      input: Type.Object({ query: Type.String({ minLength: 1 }) }),
      effect: "read",
      execute: async ({ query }) => ({ turns: await engine().searchSessions(query), basis: "inferred" }),
    }),
  ];
}

/** A hit as the model reads it. */
const asRead = ({ id, text, score, createdAt, recoveryHandle, via }: MemoryHit): object => ({
  id,
  text,
  score: Math.round(score * 100) / 100,
  created_at: new Date(createdAt).toISOString(),
  ...(via ? { via } : {}),
  ...(recoveryHandle ? { truncated: true } : {}),
});

/** One record, whole, as the model reads it; one that is not recalled any more says why. */
const recordAsRead = ({ id, text, createdAt, state, supersededBy }: MemoryRecord): object => ({
  id,
  text,
  created_at: new Date(createdAt).toISOString(),
  ...(state === "active" ? {} : { state }),
  ...(supersededBy === undefined ? {} : { superseded_by: supersededBy }),
  basis: "inferred",
});
