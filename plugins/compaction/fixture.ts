/** The harness's own fixture: a migration over several days, with ten commitments a summary must not lose. */
import type { ModelMessage } from "../../kernel/index.ts";
import type { CompactionFixture } from "./harness.ts";

const COMMITMENTS = [
  "Never touch the table billing_ledger; it is under audit until March.",
  "Keep every public function name in src/api/orders.ts as it is.",
  "The deploy window is Tuesday 06:00 to 07:30 UTC, and no other.",
  "Use integer cents everywhere; a float in a price is a defect.",
  "From now on write migration files to db/migrations/2031, not db/migrate.",
] as const;
const FOUND = [
  "src/api/orders.ts:214 rounds half down",
  "db/migrations/2031/0007_split_orders.sql",
  "decided: expand and contract, because readers run two versions",
  "fixture tenant 88213 has 4,096 open orders",
  "index orders_open_idx takes 41 minutes to build",
] as const;

let calls = 0;
const turn = (toolName: string, text: string, found: string): ModelMessage[] => {
  const toolCallId = `fixture_${++calls}`;
  const noise = Array.from({ length: 60 }, (_, line) => `${toolName} line ${line}: ok, nothing to note here`).join(
    "\n",
  );
  return [
    {
      role: "assistant",
      content: [
        { type: "text", text },
        { type: "tool-call", toolCallId, toolName, input: { of: found } },
      ],
    },
    {
      role: "tool",
      content: [
        { type: "tool-result", toolCallId, toolName, output: { type: "text", value: `${noise}\n${found}\n${noise}` } },
      ],
    },
  ];
};
const user = (text: string): ModelMessage => ({ role: "user", content: [{ type: "text", text }] });

/** Five generations of one conversation. Half of the commitments are the user's words, half stand in results. */
export function contextCompactionFixture(): CompactionFixture {
  calls = 0;
  const generations = COMMITMENTS.map((commitment, at) => {
    const found = FOUND[at] ?? "";
    return [
      user(at === 0 ? `Split the orders table without downtime. ${commitment}` : `One more thing. ${commitment}`),
      ...turn("read_file", `Looking at step ${at + 1}.`, found),
      ...turn("bash", `Checking step ${at + 1}.`, `step ${at + 1} checked`),
      ...turn("grep", `Searching for users of step ${at + 1}.`, `step ${at + 1} has no other users`),
    ];
  });
  return { id: "orders-migration", generations, commitments: [...COMMITMENTS, ...FOUND] };
}
