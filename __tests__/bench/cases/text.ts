import type { Case, Row } from "../case.ts";
import { COMPRESSION_BAR, compression, DETECTION_BAR, detection } from "../compression.ts";
import { tokenSpeeds } from "../tokens.ts";

const TOKENS_BAR = 10;
/** Kinds of text whose counting is held to the bar; random identifiers are stated beside them. */
const HELD = new Set(["log", "json", "code", "prose"]);

/** Counting, detecting and compressing text, in megabytes a second of one core. */
export default {
  order: 8,
  async rows({ root }) {
    const unit = "MB/s";
    const rows: Row[] = tokenSpeeds(root).map(({ kind, megabytesPerSecond }) => ({
      id: `text.tokens.${kind}`,
      what: `tokens counted exactly: ${kind}`,
      unit,
      value: megabytesPerSecond,
      ...(HELD.has(kind) ? { least: TOKENS_BAR } : {}),
    }));
    for (const { name, megabytes } of await detection())
      rows.push({
        id: `text.detection.${name}`,
        what: `content detected: ${name}`,
        unit,
        value: megabytes,
        least: DETECTION_BAR,
      });
    const compressed = await compression();
    for (const { name, megabytes } of compressed.rows)
      rows.push({ id: `text.compression.${name}`, what: `compressed, exact counts: ${name}`, unit, value: megabytes });
    rows.push({
      id: "text.compression.median",
      what: "compressed, exact counts: median",
      unit,
      value: compressed.median,
      least: COMPRESSION_BAR,
    });
    return rows;
  },
} satisfies Case;
