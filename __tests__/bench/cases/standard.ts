import type { Case, Row } from "../case.ts";
import { perCall } from "../measure.ts";

/** The `standard` preset with a budget in dollars, a deadline and ceilings. */
export default {
  order: 2,
  async rows({ builds }) {
    const rows: Row[] = [];
    for (const build of builds) {
      const target = `standard@${build}` as const;
      rows.push(
        {
          id: `standard.${build}.10`,
          what: `standard, ${build}: per call, 10 calls`,
          unit: "ms",
          value: await perCall({ target, calls: 10, resultBytes: 32 }, 7, 200),
        },
        {
          id: `standard.${build}.200x2k`,
          what: `standard, ${build}: per call, 200 calls x 2 kB`,
          unit: "ms",
          value: await perCall({ target, calls: 200, resultBytes: 2_048 }, 7, 300),
        },
      );
    }
    return rows;
  },
} satisfies Case;
