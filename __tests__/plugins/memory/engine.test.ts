import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "@jest/globals";
import type { CavemanError } from "../../../kernel/index.ts";
import { createMemoryWorkflow, type EmbeddingAdapter, openAIEmbeddings } from "../../../plugins/memory/index.ts";
import { engineIn, folder, rejection } from "./world.ts";

describe("one turn behind", () => {
  test("a turn gets what the one before it looked up, at once, and starts its own", async () => {
    using at = folder();
    const engine = engineIn(at.path);
    await engine.remember("The ferry to Gozo leaves from Ċirkewwa every hour");
    const workflow = createMemoryWorkflow(engine, "session-1");
    expect(workflow.beforeTurn("When does the ferry to Gozo leave?")).toBeUndefined();
    workflow.afterTurn("I do not know yet.");
    await engine.flush();
    const second = workflow.beforeTurn("And how long does it take?");
    expect(second).toContain("The ferry to Gozo leaves");
    expect(second).toContain('basis="inferred"');
    expect(second).toContain("possibly out of date");
    await engine.flush();
    expect(workflow.beforeTurn("Thanks")).toBeUndefined();
    await workflow.close();
  });

  test("a slow look-up holds no turn up, and is dropped when the talk has moved on", async () => {
    using at = folder();
    let release: (() => void) | undefined;
    const slow: EmbeddingAdapter = {
      model: "slow",
      embed: (texts) =>
        new Promise(
          (resolve) => (release = () => resolve(texts.map((text) => (/heron/.test(text) ? [1, 0] : [0, 1])))),
        ),
    };
    const engine = engineIn(at.path, { embedding: slow });
    const remembered = engine.remember("The heron nests by the weir");
    await remembered;
    expect(engine.beginTurn("Where does the heron nest?")).toBeUndefined();
    expect(engine.beginTurn("Something about invoices")).toBeUndefined();
    const waiting = engine.flush();
    const pump = setInterval(() => release?.(), 5);
    await waiting;
    clearInterval(pump);
    expect(engine.ready()).toBeUndefined();
    await engine.close();
  });

  test("what was forgotten in between is not given", async () => {
    using at = folder();
    const engine = engineIn(at.path);
    const { id } = await engine.remember("The heron nests by the weir");
    engine.beginTurn("Where does the heron nest?");
    await engine.flush();
    await engine.forget(id);
    expect(engine.beginTurn("next")).toBeUndefined();
    await engine.close();
  });

  test("a store that breaks in the background is told, and fails no turn", async () => {
    using at = folder();
    const problems: CavemanError[] = [];
    const engine = engineIn(`${at.path}/\0`, { onProblem: (error) => problems.push(error) });
    expect(engine.beginTurn("anything to look up")).toBeUndefined();
    engine.endTurn({ sessionId: "s", user: "u", assistant: "a" });
    await engine.endSession();
    expect(problems.map(({ code }) => code)).toContain("cave_memory_storage_unavailable");
  });
});

describe("sessions", () => {
  test("turns are found by topic until they expire", async () => {
    using at = folder();
    const hand = { at: 1_750_000_000_000 };
    const engine = engineIn(at.path, { ttlMs: 1_000 }, hand);
    engine.endTurn({
      sessionId: "s1",
      user: "How tall is the lighthouse?",
      assistant: "The lighthouse is 31 metres tall.",
    });
    engine.endTurn({ sessionId: "s1", user: "And its lamp?", assistant: "It was replaced in 1987." });
    await engine.flush();
    expect(await engine.searchSessions("lighthouse tall")).toMatchObject([
      { sessionId: "s1", assistant: "The lighthouse is 31 metres tall." },
    ]);
    expect(await engine.searchSessions("submarine cables")).toEqual([]);
    hand.at += 1_000;
    expect(await engine.searchSessions("lighthouse tall")).toEqual([]);
    await engine.endSession();
    await engine.close();
  });

  test("a sidecar extracts and consolidates; what it replaced stays as evidence", async () => {
    using at = folder();
    const engine = engineIn(at.path, {
      sidecar: {
        extract: async ({ user }) => [`Extracted: ${user}`, "password: hunter2!x"],
        consolidate: async (records) => [
          { text: "Both harbours are shallow", supersedes: records.map(({ id }) => id) },
        ],
      },
    });
    engine.endTurn({ sessionId: "s", user: "the north harbour is shallow", assistant: "ok" });
    engine.endTurn({ sessionId: "s", user: "the south harbour is shallow", assistant: "ok" });
    await engine.endSession();
    expect((await engine.list()).map(({ text }) => text)).toEqual(["Both harbours are shallow"]);
    const all = await engine.list({ inactive: true });
    expect(all.map(({ state }) => state).sort()).toEqual(["active", "superseded", "superseded"]);
    await engine.close();
  });
});

describe("an embedding adapter", () => {
  /** Meaning by one rule: texts about animals point one way, all others another. */
  const animals: EmbeddingAdapter = {
    model: "animals-1",
    embed: async (texts) => texts.map((text) => (/cat|feline|pet/i.test(text) ? [1, 0.1] : [0, 1])),
  };

  test("finds by meaning what shares no word, and still nothing off topic", async () => {
    using at = folder();
    const engine = engineIn(at.path, { embedding: animals });
    await engine.remember("The cat sleeps in the boiler room");
    await engine.flush();
    expect((await engine.search("favourite feline spot")).hits[0]?.text).toContain("boiler room");
    await engine.close();
    const plain = engineIn(at.path);
    expect((await plain.search("favourite feline spot")).hits).toEqual([]);
    await plain.close();
  });

  test("that fails leaves recall by words, and says so", async () => {
    using at = folder();
    const problems: string[] = [];
    const engine = engineIn(at.path, {
      embedding: { model: "m", embed: async () => [] },
      onProblem: ({ code }) => problems.push(code),
    });
    await engine.remember("The cat sleeps in the boiler room");
    expect((await engine.search("boiler room")).hits).toHaveLength(1);
    await engine.flush();
    expect(new Set(problems)).toEqual(new Set(["cave_memory_embedding_failed"]));
    await engine.close();
  });

  test("over HTTP sends the key it was given, and keeps the order of the texts", async () => {
    const seen: { auth?: string | undefined; body?: string } = {};
    const server = createServer((request, response) => {
      seen.auth = request.headers.authorization;
      let body = "";
      request.on("data", (part: Buffer) => {
        body += part.toString();
      });
      request.on("end", () => {
        seen.body = body;
        const fails = (JSON.parse(body) as { model: string }).model === "gone";
        response.writeHead(fails ? 404 : 200, { "content-type": "application/json" });
        response.end(
          JSON.stringify({
            data: [
              { index: 1, embedding: [0, 1] },
              { index: 0, embedding: [1, 0] },
            ],
          }),
        );
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`;
    try {
      const adapter = openAIEmbeddings({ baseURL, apiKey: "given-key", model: "m" });
      expect(await adapter.embed(["a", "b"])).toEqual([
        [1, 0],
        [0, 1],
      ]);
      expect(seen).toEqual({ auth: "Bearer given-key", body: '{"model":"m","input":["a","b"]}' });
      expect(await rejection(openAIEmbeddings({ baseURL, apiKey: "k", model: "gone" }).embed(["a"]))).toBe(
        "cave_memory_embedding_failed",
      );
    } finally {
      server.close();
    }
  });
});
