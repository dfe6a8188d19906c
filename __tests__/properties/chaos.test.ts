import { expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  agent,
  createKernel,
  definePlugin,
  HOOKS,
  type HookName,
  illegality,
  type Run,
  schema,
  subagent,
  tool,
} from "../../kernel/index.ts";
import { scripted } from "../../plugins/providers/scripted/index.ts";
import { models, unhandledDuring } from "../support/harness.ts";

/** What a hostile tap does when it is called. */
const deeds = [
  "throws",
  "throws nothing",
  "rejects",
  "hangs",
  "nonsense",
  "late",
  "fine",
  "stops",
  "holds",
  "holds and throws",
] as const;
interface Mischief {
  hook: HookName;
  deed: (typeof deeds)[number];
  guard: boolean;
  from: number;
}
const mischief: fc.Arbitrary<Mischief> = fc.record({
  hook: fc.constantFrom(...HOOKS),
  deed: fc.constantFrom(...deeds),
  guard: fc.boolean(),
  from: fc.nat(4),
});

const evil = (list: readonly Mischief[], log: { guardFailed: boolean; open: number; twice: number }) =>
  definePlugin({
    name: "evil",
    apply(kernel) {
      for (const [index, { hook, deed, guard, from }] of list.entries()) {
        let calls = 0;
        kernel.hooks[hook].tap({ name: `evil:${index}`, guard }, ((payload: {
          run: Run;
          hold?: (spec: object) => void;
        }) => {
          if (calls++ < from) return undefined;
          const fails =
            deed !== "fine" &&
            deed !== "stops" &&
            deed !== "holds" &&
            deed !== "late" &&
            !(deed === "nonsense" && !["compact", "reserve", "admitTool"].includes(hook));
          if (guard && fails && ["beforeCall", "afterUsage", "settle"].includes(hook)) log.guardFailed = true;
          const hold = (): void => {
            if (!payload.hold) return;
            log.open++;
            let closed = false;
            const close = (): void => {
              log.open--;
              if (closed) log.twice++;
              closed = true;
            };
            payload.hold({ owner: "evil", amount: 1, settle: close, release: close });
          };
          switch (deed) {
            case "throws":
              throw new Error("evil");
            case "throws nothing":
              throw undefined;
            case "rejects":
              return Promise.reject(new Error("evil"));
            case "hangs":
              return new Promise(() => undefined);
            case "nonsense":
              return { yes: 1 };
            case "late":
              return new Promise((resolve) => setTimeout(resolve, 3));
            case "stops":
              return void payload.run.stop("no_progress");
            case "holds":
              return hold();
            case "holds and throws":
              hold();
              throw new Error("evil");
            default:
              return undefined;
          }
        }) as never);
      }
    },
  })();

test("whatever random taps do, the run settles once, never succeeds after a failed guard, and every hold ends once", async () => {
  const unhandled = await unhandledDuring(() =>
    fc.assert(
      fc.asyncProperty(
        fc.array(mischief, { minLength: 1, maxLength: 4 }),
        fc.option(fc.nat(12), { nil: undefined }),
        async (list, abortAt) => {
          const log = { guardFailed: false, open: 0, twice: 0 };
          const echo = tool({
            name: "echo",
            description: "E.",
            input: schema.object({}),
            effect: "read",
            execute: () => "x",
          });
          const child = agent({
            id: "child",
            instructions: "c",
            model: scripted([{ toolCalls: [{ name: "echo", input: {} }] }, { text: "c" }]),
            tools: [echo],
          });
          const root = agent({
            id: "root",
            instructions: "r",
            model: scripted((_request, index) =>
              index < 2
                ? {
                    toolCalls: [
                      { name: "echo", input: {} },
                      { name: "kid", input: { task: "t" } },
                    ],
                  }
                : { text: "r" },
            ),
            tools: [echo, subagent({ name: "kid", description: "K.", agent: child })],
          });
          const stop = new AbortController();
          let events = 0;
          const { run, done } = createKernel({ plugins: [models, evil(list, log)], tapTimeoutMs: 10 }).start(
            root,
            "go",
            { signal: stop.signal },
            () => {
              if (events++ === abortAt) stop.abort();
            },
          );
          const outcome = await done;
          const all = (each: Run): Run[] => [each, ...each.children.flatMap(all)];
          for (const each of all(run)) {
            expect(each.ledger.of("run.settled")).toHaveLength(1);
            expect(each.ledger.of("run.settled")[0]?.openHolds).toBe(0);
            expect(illegality(each.transcript.view.messages)).toBeUndefined();
          }
          expect(log).toMatchObject({ open: 0, twice: 0 });
          if (log.guardFailed && run.children.length === 0) expect(["error", "aborted"]).toContain(outcome.stopReason);
        },
      ),
      { numRuns: 150 },
    ),
  );
  expect(unhandled).toEqual([]);
}, 120_000);
