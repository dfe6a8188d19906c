import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Case, notMeasured, type Row } from "../case.ts";
import { perCall } from "../measure.ts";

const turns = 400;

/** One long run under a budget: the whole history is bounded on every turn. */
export default {
  order: 3,
  async rows({ root, builds }) {
    const rows: Row[] = [];
    for (const build of builds) {
      const row = {
        id: `long-run.${build}`,
        what: `standard, ${build}: ${turns} turns x 16 kB under a budget, in all`,
        unit: "ms",
        bar: 100,
      } as const;
      if (!existsSync(join(root, "plugins", "budget", "index.ts")))
        rows.push(notMeasured(row, "there is no budget plugin"));
      else
        rows.push({
          ...row,
          value: turns * (await perCall({ target: `standard@${build}`, calls: turns, resultBytes: 16_384 }, 7, 200)),
        });
    }
    return rows;
  },
} satisfies Case;
