/**
 * Subagents: how deep, how many and how many at once. Taps `admitTool` (deny) and `settle` (give places back, record
 * the tree's counters). Owns `maxSubagentDepth`, `maxSubagentInvocations`, `maxConcurrentSubagents`.
 */
import { Type } from "@sinclair/typebox";
import {
  CavemanError,
  type Denial,
  definePlugin,
  defineService,
  type Hold,
  type Run,
  type RunOptions,
  type ToolCall,
} from "../../kernel/index.ts";
import { either, shown } from "../given.ts";
import { sharedFacts } from "../services.ts";
import { ContextCap } from "./context-cap.ts";
import { Tree } from "./tree.ts";

declare module "../../kernel/contract.ts" {
  interface RunOptions {
    /** How deep subagents may nest: 1 to 8. Default 2. */
    maxSubagentDepth?: number;
    /** Subagent calls of the whole tree: 1 to 65,536. Default: no cap. */
    maxSubagentInvocations?: number;
    /** Subagents of the whole tree at one time: 1 to 1,024. Default: no cap. */
    maxConcurrentSubagents?: number;
  }
}

export const MAX_DEPTH = 2;
const OWNER = "subagents";

interface State {
  readonly tree: Tree;
  readonly maxDepth: number;
  /** Calls of each subagent tool in this run. */
  readonly calls: Map<string, number>;
  /** The place this run took in the tree. */
  readonly place: Hold | undefined;
  /** What the subagent's definition lets its context grow to. */
  readonly context: ContextCap | undefined;
}
type Options = Pick<RunOptions, "maxSubagentDepth" | "maxSubagentInvocations" | "maxConcurrentSubagents">;

const keys = {
  maxSubagentDepth: Type.Optional(
    Type.Unsafe<number>({ description: "how deep subagents may nest, 1 to 8; default 2" }),
  ),
  maxSubagentInvocations: Type.Optional(
    Type.Unsafe<number>({ description: "subagent calls of the whole tree, 1 to 65536" }),
  ),
  maxConcurrentSubagents: Type.Optional(
    Type.Unsafe<number>({ description: "subagents of the whole tree at one time, 1 to 1024" }),
  ),
};
/** The state of a run, for what is asked outside of `apply`. */
const Subagents = defineService<State>("subagents.state");
const places = new WeakMap<ToolCall, Hold>();

function within(value: number | undefined, most: number, code: string, place: string): number | undefined {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 1 && value <= most)) return value;
  throw new CavemanError(code, { place, expected: `a whole number from 1 to ${most}`, received: shown(value) });
}

function stateFor(run: Run, defaults: Options): State {
  const above = run.parent?.find(Subagents);
  const place = run.spawnedBy && places.get(run.spawnedBy);
  if (run.spawnedBy) places.delete(run.spawnedBy);
  const spec = run.spawnedBy?.tool?.subagent;
  const context = spec && new ContextCap(spec.maxContextTokens);
  if (above) return { tree: above.tree, maxDepth: above.maxDepth, calls: new Map(), place, context };
  const { options } = run;
  const maxDepth =
    within(
      either(options.maxSubagentDepth, defaults.maxSubagentDepth),
      8,
      "cave_subagent_depth_limit_invalid",
      "maxSubagentDepth",
    ) ?? MAX_DEPTH;
  const maxInvocations = within(
    either(options.maxSubagentInvocations, defaults.maxSubagentInvocations),
    65_536,
    "cave_subagent_invocation_limit_invalid",
    "maxSubagentInvocations",
  );
  const maxConcurrent = within(
    either(options.maxConcurrentSubagents, defaults.maxConcurrentSubagents),
    1_024,
    "cave_subagent_concurrency_limit_invalid",
    "maxConcurrentSubagents",
  );
  return { tree: new Tree({ maxInvocations, maxConcurrent }), maxDepth, calls: new Map(), place, context };
}

const deny = (code: string, message: string): Denial => ({ deny: { code, message } });

/** What is asked before any money is set aside: input length, calls of this tool, depth. */
function precheck(call: ToolCall, state: State): Denial | undefined {
  const spec = call.tool?.subagent;
  if (!spec || call.problem) return undefined;
  const { task } = call.input as { task?: unknown };
  if (typeof task === "string" && task.length > spec.maxInputChars)
    return deny(
      "cave_subagent_input_limit",
      `The task has ${task.length} characters, this subagent takes ${spec.maxInputChars}; shorten it.`,
    );
  const calls = state.calls.get(call.name) ?? 0;
  if (calls >= spec.maxCalls)
    return deny(
      "cave_subagent_call_budget",
      `This subagent may be called ${spec.maxCalls} time(s) in one run; answer with what is known.`,
    );
  if (call.run.depth + 1 > state.maxDepth)
    return deny("cave_subagent_depth_limit", `Subagents may nest ${state.maxDepth} deep; do the task without one.`);
  state.calls.set(call.name, calls + 1);
  return undefined;
}

/** The last question: a place in the tree. Denied here, the wallet that was carved goes home. */
function enter(call: ToolCall, state: State): Denial | undefined {
  if (!call.tool?.subagent || call.problem) return undefined;
  const place = state.tree.admit(call.run.depth + 1);
  if (place === "invocations")
    return deny(
      "cave_subagent_invocation_limit",
      `The run and its children may call ${state.tree.caps.maxInvocations} subagents; answer with what is known.`,
    );
  if (place === "concurrency")
    return deny(
      "cave_subagent_concurrency_limit",
      `At most ${state.tree.caps.maxConcurrent} subagents run at one time; wait for one to end.`,
    );
  places.set(call, call.hold<number>({ owner: OWNER, amount: 1, settle: place.free, release: place.undo }) as Hold);
  return undefined;
}

export const subagents = definePlugin({
  name: "subagents",
  description: "Bounds how deep and how wide subagents spawn, over the whole tree of runs.",
  options: Type.Object(keys),
  runOptions: Type.Object(keys),
  facts: sharedFacts.subagents,
  errors: {
    cave_subagent_input_limit: {
      meaning: "The task is longer than the subagent takes.",
      remedy: "Shorten it, or raise maxInputChars.",
    },
    cave_subagent_call_budget: {
      meaning: "The subagent was called as often as one run may.",
      remedy: "Answer with what is known, or raise maxCalls.",
    },
    cave_subagent_depth_limit: {
      meaning: "Subagents nest deeper than the run allows.",
      remedy: "Do the task without a subagent, or raise maxSubagentDepth (at most 8).",
    },
    cave_subagent_invocation_limit: {
      meaning: "The tree has called as many subagents as it may.",
      remedy: "Answer with what is known, or raise maxSubagentInvocations.",
    },
    cave_subagent_concurrency_limit: {
      meaning: "As many subagents run at once as the tree allows.",
      remedy: "Wait for one to end, or raise maxConcurrentSubagents.",
    },
    cave_subagent_context_budget: {
      meaning: "The subagent's context is larger than its definition allows.",
      remedy: "Give it less to read, or raise maxContextTokens.",
    },
    cave_subagent_depth_limit_invalid: {
      meaning: "maxSubagentDepth is not a whole number from 1 to 8.",
      remedy: "Give a number from 1 to 8; the default is 2.",
    },
    cave_subagent_invocation_limit_invalid: {
      meaning: "maxSubagentInvocations is not a whole number from 1 to 65536.",
      remedy: "Give such a number, or leave it out.",
    },
    cave_subagent_concurrency_limit_invalid: {
      meaning: "maxConcurrentSubagents is not a whole number from 1 to 1024.",
      remedy: "Give such a number, or leave it out.",
    },
  },
  // A wallet is carved before a place is taken, so budget's taps come first in their stage.
  after: ["budget"],
  controls: (run) => {
    const caps = run.find(Subagents)?.tree.caps;
    return {
      depth: "active",
      child_calls: "active",
      tree_invocations: caps?.maxInvocations === undefined ? "absent" : "active",
      tree_concurrency: caps?.maxConcurrent === undefined ? "absent" : "active",
    };
  },
  apply(kernel, options) {
    const stateOf = kernel.perRun((run) => stateFor(run, options));
    kernel.provide(Subagents, stateOf);
    kernel.hooks.admitTool.tap({ name: "subagents", stage: "count" }, (call) => precheck(call, stateOf(call.run)));
    kernel.hooks.admitTool.tap({ name: "subagents:tree", stage: "hold" }, (call) => enter(call, stateOf(call.run)));
    kernel.hooks.reserve.tap({ name: "subagents:context", stage: "check" }, (call) => {
      const cap = stateOf(call.run).context;
      if (call.purpose === "summary" || !cap?.exceededBy(call.view.bytes + call.overheadBytes)) return undefined;
      return {
        refuse: {
          code: "cave_subagent_context_budget",
          message: `The subagent's context passes the ${cap.maxTokens} tokens of its definition.`,
          compact: true,
        },
      };
    });
    kernel.hooks.afterUsage.tap(
      { name: "subagents:context", stage: "count" },
      ({ run, frozen, usage, basis, sent }) => {
        if (sent && basis !== "bound")
          stateOf(run).context?.measured(usage.input, frozen.view.bytes + frozen.overheadBytes);
      },
    );
    kernel.hooks.settle.tap({ name: "subagents", stage: "work" }, ({ run }) => {
      const { place, tree } = stateOf(run);
      if (place?.state === "open") place.settle(1);
      if (run.parent) return;
      run.record("subagents.tree", {
        admitted: tree.admitted,
        denied: deniedIn(run),
        peak: tree.peak,
        deepest: tree.deepest,
      });
    });
  },
});

/** Denials of subagent tools over the whole tree, read from what was recorded. */
function deniedIn(run: Run): number {
  let count = 0;
  for (const fact of run.ledger.facts)
    if (fact.type === "tool.denied" && run.tools.get(fact.name)?.kind === "subagent") count++;
  for (const child of run.children) count += deniedIn(child);
  return count;
}
