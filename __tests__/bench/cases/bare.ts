import type { Case, Row } from "../case.ts";
import { perCall, versus } from "../measure.ts";

const short = { calls: 10, resultBytes: 32 };
const wide = { calls: 10, resultBytes: 2_048 };
const long = { calls: 200, resultBytes: 2_048 };

/** The `bare` preset: a call of a short run, and how the cost of a call grows with the run. */
export default {
  order: 1,
  async rows({ builds }) {
    const rows: Row[] = [];
    for (const build of builds) {
      const target = `bare@${build}` as const;
      const growth = await versus({ target, ...long }, { target, ...wide }, 3, 300);
      rows.push(
        {
          id: `bare.${build}.10`,
          what: `bare, ${build}: per call, 10 calls`,
          unit: "ms",
          value: await perCall({ target, ...short }, 7, 200),
        },
        { id: `bare.${build}.10x2k`, what: `bare, ${build}: per call, 10 calls x 2 kB`, unit: "ms", value: growth.b },
        { id: `bare.${build}.200x2k`, what: `bare, ${build}: per call, 200 calls x 2 kB`, unit: "ms", value: growth.a },
        {
          id: `bare.${build}.growth`,
          what: `bare, ${build}: 200 calls / 10 calls, x 2 kB`,
          unit: "x",
          value: growth.ratio,
          bar: 1.3,
        },
      );
    }
    return rows;
  },
} satisfies Case;
