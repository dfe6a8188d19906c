import { describe, expect, test } from "@jest/globals";
import { createMemoryEngine, memory, memoryTTLMilliseconds } from "../../../plugins/memory/index.ts";
import { fileOf } from "../../../plugins/memory/scope.ts";
import { codeOf } from "./world.ts";

describe("memory()", () => {
  test("declares a local memory of thirty days and 800 tokens", () => {
    expect(memory({ namespace: "support" })).toEqual({
      kind: "memory",
      namespace: "support",
      ttl: "30d",
      recallBudget: 800,
      provenance: "local",
      consent: "local_only",
    });
    expect(Object.isFrozen(memory({ namespace: "support" }))).toBe(true);
  });

  test.each([
    [{ namespace: "a", provenance: "project" }, "cave_memory_provenance_unsupported"],
    [{ namespace: "a", provenance: "external" }, "cave_memory_provenance_unsupported"],
    [{ namespace: "a", consent: "project_shared" }, "cave_memory_consent_unsupported"],
    [{ namespace: "a", ttl: "0d" }, "cave_memory_ttl_invalid"],
    [{ namespace: "a", ttl: "30" }, "cave_memory_ttl_invalid"],
    [{ namespace: "a", ttl: "-1h" }, "cave_memory_ttl_invalid"],
    [{ namespace: "a", ttl: "1.5h" }, "cave_memory_ttl_invalid"],
    [{ namespace: "a", ttl: "99999999d" }, "cave_memory_ttl_invalid"],
    [{ namespace: "a", recallBudget: 0 }, "cave_memory_recall_budget_invalid"],
    [{ namespace: "a", recallBudget: 1.5 }, "cave_memory_recall_budget_invalid"],
    [{ namespace: "" }, "cave_memory_namespace_invalid"],
    [{ namespace: "../up" }, "cave_memory_namespace_invalid"],
    [{ namespace: ".." }, "cave_memory_namespace_invalid"],
    [{ namespace: "a/b" }, "cave_memory_namespace_invalid"],
    [{ namespace: "a", budget: 5 }, "cave_option_invalid"],
  ])("refuses %j", (options, code) => {
    expect(codeOf(() => memory(options))).toBe(code);
  });

  test("reads minutes, hours and days", () => {
    expect([memoryTTLMilliseconds("45m"), memoryTTLMilliseconds("2h"), memoryTTLMilliseconds("30d")]).toEqual([
      45 * 60_000,
      2 * 3_600_000,
      30 * 86_400_000,
    ]);
  });
});

describe("a scope", () => {
  test.each([
    [{ tenant: "a/b", agentId: "x", namespace: "n" }, "cave_memory_tenant_invalid"],
    [{ tenant: "", agentId: "x", namespace: "n" }, "cave_memory_tenant_invalid"],
    [{ agentId: "X", namespace: "n" }, "cave_memory_agent_invalid"],
    [{ agentId: "..", namespace: "n" }, "cave_memory_agent_invalid"],
    [{ agentId: "x", namespace: "a\0b" }, "cave_memory_namespace_invalid"],
  ])("%j is refused", (scope, code) => {
    expect(codeOf(() => createMemoryEngine({ scope, root: "/nowhere" }))).toBe(code);
  });

  test("has a file of its own, also where file names fold case", () => {
    const file = (tenant: string, namespace: string): string => fileOf("/r", { tenant, agentId: "a", namespace });
    const files = [file("t", "n"), file("T", "n"), file("t", "N"), file("_", "n")];
    expect(new Set(files.map((name) => name.toLowerCase())).size).toBe(4);
  });
});

test("an engine refuses a time to live or a budget that is none", () => {
  const scope = { agentId: "x", namespace: "n" };
  expect(codeOf(() => createMemoryEngine({ scope, ttlMs: 0 }))).toBe("cave_memory_ttl_invalid");
  expect(codeOf(() => createMemoryEngine({ scope, recallBudget: -1 }))).toBe("cave_memory_recall_budget_invalid");
});
