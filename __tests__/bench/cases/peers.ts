import type { Case, Row } from "../case.ts";
import type { Peer, Target } from "../drivers.ts";
import { versus } from "../measure.ts";
import { installPeers } from "../peers.ts";

const shapes = [
  { key: "10", say: "10 calls", calls: 10, resultBytes: 32, ms: 60 },
  { key: "200x2k", say: "200 calls x 2 kB", calls: 200, resultBytes: 2_048, ms: 120 },
] as const;

/** The bars hold for the short run. */
const bars: Readonly<Record<string, number>> = {
  "bare/pi-agent-core": 0.7,
  "standard/pi-agent-core": 1.25,
  "standard/ai": 0.25,
};

/** Ours against each peer, in turns; a ratio below one says that ours is faster. */
export default {
  order: 6,
  async rows({ root, builds, peers }) {
    if (!peers) return [];
    await installPeers(root);
    const build = builds.includes("dist") ? "dist" : "source";
    const rows: Row[] = [];
    for (const peer of ["pi-agent-core", "ai"] as const satisfies readonly Peer[]) {
      for (const { key, say, ms, ...shape } of shapes) {
        for (const preset of ["bare", "standard"] as const) {
          const target: Target = `${preset}@${build}`;
          const { b, ratio } = await versus({ target, ...shape }, { target: peer, ...shape }, 9, ms);
          const bar = key === "10" ? bars[`${preset}/${peer}`] : undefined;
          if (preset === "bare")
            rows.push({ id: `peers.${peer}.${key}`, what: `${peer}: per call, ${say}`, unit: "ms", value: b });
          rows.push({
            id: `peers.${preset}/${peer}.${key}`,
            what: `${preset}, ${build} / ${peer}: ${say}`,
            unit: "x",
            value: ratio,
            ...(bar === undefined ? {} : { bar }),
          });
        }
      }
    }
    return rows;
  },
} satisfies Case;
