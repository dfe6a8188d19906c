/** `caveman mem`: remember, recall, replace and forget facts from a shell. Data to stdout, the report to stderr. */
import { homedir } from "node:os";
import { join } from "node:path";
import { CavemanError } from "../../kernel/index.ts";
import { createMemoryEngine, type MemoryEngine } from "./engine.ts";
import type { MemoryRecord } from "./record.ts";
import { type MemoryScope, memoryRoot } from "./scope.ts";

/** What a command is given to write to: payload to `out`, the report to `err`. */
interface Output {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}
type Args = Readonly<Record<string, unknown>>;

/** Bytes of one fact from a shell, and tokens of one recall. */
const MAX_CHARS = 262_144;
const RECALL_BUDGET = 2_000;
const ACTIONS = ["remember", "recall", "supersede", "history", "forget", "recover", "list"] as const;

async function execute(args: Args, output: Output): Promise<number> {
  const words = [args.first, args.second].filter((word): word is string => typeof word === "string");
  const engine = engineOf(args);
  try {
    return await act(String(args.action), words, args, engine, output);
  } finally {
    await engine.close();
  }
}

async function act(
  action: string,
  words: readonly string[],
  args: Args,
  engine: MemoryEngine,
  { out, err }: Output,
): Promise<number> {
  const json = (value: unknown): void => out(`${JSON.stringify(value, null, 2)}\n`);
  const [first, second] = words;
  const needed = (word: string | undefined, what: string): string => {
    if (word !== undefined && word !== "") return word;
    throw new CavemanError("cave_option_invalid", {
      place: `caveman mem ${action}`,
      expected: what,
      received: "nothing",
    });
  };
  switch (action) {
    case "remember": {
      const record = await engine.remember(await given(first, "a text, or - for standard input"));
      json({ id: record.id, basis: "inferred" });
      err(`Remembered ${record.id}\n`);
      return 0;
    }
    case "recall": {
      const { hits, ...recall } = await engine.search(needed(first, "a query"), {
        ...limitOf(args, second),
        ...budgetOf(args),
      });
      json({
        hits: hits.map(({ recoveryHandle, ...hit }) => ({
          ...hit,
          ...(recoveryHandle ? { recovery_handle: recoveryHandle } : {}),
        })),
        ...recall,
      });
      err(`${hits.length} recalled, ${recall.tokens} tokens (inferred)\n`);
      return 0;
    }
    case "supersede": {
      const record = await engine.supersede(
        needed(first, "the id of a memory"),
        await given(second, "the new text, or -"),
      );
      json({ id: record.id, supersedes: record.supersedes, basis: "inferred" });
      err(`${record.id} replaces ${record.supersedes}\n`);
      return 0;
    }
    case "history":
      json((await engine.history(needed(first, "the id of a memory"))).map(asShown));
      return 0;
    case "forget": {
      const id = needed(first, "the id of a memory");
      if (!(await engine.forget(id))) throw new CavemanError("cave_memory_unknown", { received: id.slice(0, 80) });
      err(`Forgot ${id}\n`);
      return 0;
    }
    case "recover":
      out(await engine.recover(needed(first, "a recovery handle or an id")));
      return 0;
    case "list":
      json((await engine.list({ inactive: args.all === true })).map(asShown));
      return 0;
    default:
      throw new CavemanError("cave_option_invalid", {
        place: "caveman mem",
        expected: ACTIONS.join(", "),
        received: JSON.stringify(action),
      });
  }
}

/** A shell keeps what it is told until it is told to forget it. */
function engineOf(args: Args): MemoryEngine {
  const word = (name: string): string | undefined => (typeof args[name] === "string" ? args[name] : undefined);
  const agentId = word("agent");
  const tenant = word("tenant");
  const scope: MemoryScope = {
    agentId: agentId ?? "shell",
    namespace: word("namespace") ?? "default",
    ...(tenant === undefined ? {} : { tenant }),
  };
  const own = join(process.env.CAVEMAN_HOME || join(homedir(), ".caveman"), "mem");
  return createMemoryEngine({
    scope,
    root: word("root") ?? (agentId === undefined ? own : memoryRoot()),
    ttlMs: null,
    recallBudget: RECALL_BUDGET,
    maxChars: MAX_CHARS,
  });
}

async function given(word: string | undefined, what: string): Promise<string> {
  if (word === "-") {
    const parts: Buffer[] = [];
    for await (const part of process.stdin) parts.push(Buffer.from(part));
    return Buffer.concat(parts).toString("utf8");
  }
  if (word === undefined || word === "")
    throw new CavemanError("cave_memory_value_invalid", { expected: what, received: "nothing" });
  return word;
}

function limitOf(args: Args, word: string | undefined): { limit?: number } {
  const said = args.limit ?? word;
  if (said === undefined) return {};
  const limit = Number(said);
  if (Number.isSafeInteger(limit) && limit > 0) return { limit };
  throw new CavemanError("cave_option_invalid", {
    place: "--limit",
    expected: "a positive whole number",
    received: String(said),
  });
}

const budgetOf = ({ budget }: Args): { budget?: number } => (budget === undefined ? {} : { budget: Number(budget) });

const asShown = ({ createdAt, expiresAt, ...record }: MemoryRecord): object => ({
  ...record,
  created_at: new Date(createdAt).toISOString(),
  ...(expiresAt === undefined ? {} : { expires_at: new Date(expiresAt).toISOString() }),
});

export const commands = {
  mem: {
    usage: "mem <action> [first] [second]",
    describe: `Local memory: ${ACTIONS.join(", ")}`,
    positionals: {
      action: ACTIONS.join(", "),
      first: "remember <text|->, recall <query>, supersede|history|forget <id>, recover <handle|id>",
      second: "supersede <id> <text|->, recall <query> <limit>",
    },
    options: {
      limit: { type: "number", describe: "Most hits of a recall (5)" },
      budget: { type: "number", describe: "Most tokens of a recall (2000); 0 for no limit" },
      all: { type: "boolean", describe: "List what was replaced or has expired too" },
      agent: { type: "string", describe: "The memory of an agent, by its id" },
      namespace: { type: "string", describe: "Its namespace (default)" },
      tenant: { type: "string", describe: "Its tenant" },
      root: { type: "string", describe: "The folder of the files" },
    },
    execute,
  },
} as const;
