/** A run of ten times its context window, and what becomes of ten commitments planted along the way. */
import { describe, expect, test } from "@jest/globals";
import { createConversation } from "../../../plugins/conversation/index.ts";
import { recoveryStore, textsOf } from "../context-editing/stores.ts";
import { capsuleFor } from "./summarisers.ts";
import {
  CONSTRAINTS,
  DECIDED,
  discardedIn,
  FOUND,
  isSummary,
  play,
  type Request,
  settledIn,
  WINDOW,
  worker,
} from "./worlds.ts";

const asJSON = (request: Request | undefined) => JSON.stringify(request?.prompt ?? []);
const inJSON = (text: string) => JSON.stringify(text).slice(1, -1);

describe("ten times the context window", () => {
  test("completes; every commitment is shown or can be read back, after every generation", async () => {
    const store = recoveryStore();
    const { model, stats } = worker(24, (instruction) => ({ text: JSON.stringify(capsuleFor(instruction)) }), {
      prose: 2_400,
    });
    const conversation = createConversation();
    const { runs, stopReason } = await play(model, CONSTRAINTS, [store.plugin], {}, { conversation });
    expect(stopReason).toBe("complete");
    expect(stats.rejected).toBe(0);
    expect(stats.largest).toBeLessThanOrEqual(WINDOW);

    // Ten windows of content were worked through: results and messages as they were first said.
    const said = new Set(runs.flatMap(textsOf));
    expect([...said].reduce((sum, text) => sum + Buffer.byteLength(text), 0) / 4).toBeGreaterThan(10 * WINDOW);

    const made = settledIn(runs);
    expect(made.filter(({ tier }) => tier === "summarized").length).toBeGreaterThanOrEqual(5);
    expect(discardedIn(runs)).toEqual([]);
    for (const { preTokens, postTokens } of made) expect(postTokens).toBeLessThan(preTokens);

    const commitments = [...CONSTRAINTS, ...Object.values(FOUND), ...Object.values(DECIDED)];
    expect(commitments).toHaveLength(10);
    const working = model.calls.filter((request) => !isSummary(request));
    const originals = [...store.originals.values()].join("\n");
    const known = new Set<string>();
    for (const request of working) {
      const shown = asJSON(request);
      // A commitment that was ever shown stays within reach of every later call.
      for (const commitment of commitments) {
        const text = inJSON(commitment);
        if (shown.includes(text)) known.add(text);
        else if (known.has(text)) expect(originals.includes(text) || originals.includes(commitment)).toBe(true);
      }
      expect(shown.split("<cave-context-summary>").length - 1).toBeLessThanOrEqual(1); // one capsule, not a pile
      expect(shown).toContain(CONSTRAINTS[0]); // the root request, verbatim
    }
    expect(known.size).toBe(10);
    // The user's words never left the view: they fit what is pinned.
    for (const constraint of CONSTRAINTS) expect(asJSON(working.at(-1))).toContain(constraint);
  }, 30_000);

  test("the way back is written in the view, and leads to every byte that left it", async () => {
    const store = recoveryStore();
    const { model } = worker(40, (instruction) => ({ text: JSON.stringify(capsuleFor(instruction)) }), {
      prose: 2_400,
    });
    const { run } = await play(model, ["Go"], [store.plugin]);
    // From the last view, following handles, as a model would.
    const reached: string[] = [];
    const seen = new Set<string>();
    const follow = (text: string): void => {
      for (const [handle] of text.matchAll(/ccr_[0-9a-f]{32}/g)) {
        if (seen.has(handle)) continue;
        seen.add(handle);
        const original = store.originals.get(handle) ?? "";
        expect(original).not.toBe("");
        reached.push(original);
        follow(original.replaceAll("\\u0063cr_", "ccr_")); // an escape in JSON, which a reader of JSON reads
      }
    };
    follow(asJSON(model.calls.at(-1)));
    const view = asJSON(model.calls.at(-1));
    for (const text of textsOf(run).filter((one) => one.startsWith("result "))) {
      const inside = inJSON(text);
      expect(view.includes(inside) || reached.some((one) => one === text || one.includes(inside))).toBe(true);
    }
  });

  test("generations count up by one and each supersedes the one before, across a restart too", async () => {
    const { model } = worker(14, (instruction) => ({ text: JSON.stringify(capsuleFor(instruction)) }), {
      prose: 2_400,
    });
    let conversation = createConversation();
    const generations: number[] = [];
    for (const input of ["First", "Second", "Third"]) {
      await play(model, [input], [recoveryStore().plugin], {}, { conversation });
      conversation = createConversation(JSON.parse(JSON.stringify(conversation.toJSON())));
    }
    for (const request of model.calls) {
      const found = /\\"generation\\":(\d+)/.exec(asJSON(request).replaceAll("\\\\", "\\"));
      if (found && !isSummary(request) && generations.at(-1) !== Number(found[1])) generations.push(Number(found[1]));
    }
    expect(generations.length).toBeGreaterThanOrEqual(3);
    expect(generations).toEqual(generations.map((_, at) => at + 1));
  });

  test("an anchor in the user's own words outlives pinning and every generation", async () => {
    const words = "Never touch the table billing_ledger.";
    const summarise = (instruction: string) => {
      const id = /^- (runtime\.user\.[0-9a-f]{16}) [0-9a-f]{64}$/m.exec(instruction)?.[1] ?? "";
      // Said once, when the message is the only one there is; never repeated by later summaries.
      const first = instruction.includes('"generation" is 1.');
      const critical_anchors = first ? [{ id: "billing", text: words, source_id: id }] : [];
      return { text: JSON.stringify(capsuleFor(instruction, { critical_anchors })) };
    };
    const { model } = worker(14, summarise, { prose: 6_000 });
    const conversation = createConversation();
    const inputs = [`${words} Begin.`, "Go on.", "Go on again."];
    const { runs } = await play(
      model,
      inputs,
      [recoveryStore().plugin],
      { compaction: { preserveFirstUserMessage: false, pinnedUserTokens: 1 } },
      { conversation },
    );
    expect(discardedIn(runs)).toEqual([]);
    expect(settledIn(runs).filter(({ tier }) => tier === "summarized").length).toBeGreaterThanOrEqual(2);
    const shown = asJSON(model.calls.at(-1));
    expect(shown).not.toContain("Begin."); // the message itself is long gone
    expect(shown).toContain(words);
  });
});
