/** Whose memory it is. Rows of one scope are never seen from another: each has a file of its own. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { assertAgent, assertNamespace, assertTenant, SINGLE_TENANT } from "./declaration.ts";

export interface MemoryScope {
  /** Default: a single tenant. */
  readonly tenant?: string;
  readonly agentId: string;
  readonly namespace: string;
}

/** @throws CavemanError `cave_memory_tenant_invalid`, `cave_memory_agent_invalid`, `cave_memory_namespace_invalid`. */
export function checkedScope({ tenant = SINGLE_TENANT, agentId, namespace }: MemoryScope): Required<MemoryScope> {
  assertTenant(tenant);
  assertAgent(agentId);
  assertNamespace(namespace);
  return Object.freeze({ tenant, agentId, namespace });
}

export type Env = Readonly<Record<string, string | undefined>>;

/** Where memories are kept: `CAVE_AGENT_MEMORY_ROOT`, or `agent-memory` under `CAVEMAN_HOME` or `~/.caveman`. */
export const memoryRoot = (env: Env = process.env): string =>
  env.CAVE_AGENT_MEMORY_ROOT || join(env.CAVEMAN_HOME || join(homedir(), ".caveman"), "agent-memory");

/** The file of a scope. Capitals are written so that file systems that fold case keep them apart. */
export function fileOf(root: string, { tenant, agentId, namespace }: Required<MemoryScope>): string {
  const folded = (name: string): string => name.replace(/[A-Z]/g, (letter) => `=${letter.toLowerCase()}`);
  return join(resolve(root), folded(tenant), folded(agentId), `${folded(namespace)}.db`);
}
