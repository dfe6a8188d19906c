import type { Case, Row } from "../case.ts";
import { recallSpeeds } from "../memory.ts";

const RECALL_BAR = 20;

/** Recall over a hundred thousand records: the slowest of twenty, for rare and common words and for questions. */
export default {
  order: 9,
  rows: async () =>
    (await recallSpeeds()).map(
      ({ queries, records, p95Ms }): Row => ({
        id: `memory.${queries.replace(" ", "-")}`,
        what: `recall of ${queries}, ${records.toLocaleString("en-US")} records, p95`,
        unit: "ms",
        value: p95Ms,
        bar: RECALL_BAR,
      }),
    ),
} satisfies Case;
