/**
 * `npm run bench -- [case…] [--peers] [--json]`: what a model call, a start and an installation cost, beside the bars they
 * are held to. `--peers` installs two other runtimes in a folder of their own and measures them in turns with ours.
 */
import { parseArgs } from "node:util";
import type { Row } from "../__tests__/bench/case.ts";
import { bench } from "../__tests__/bench/run.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "boolean", default: false }, peers: { type: "boolean", default: false } },
});

const digits = { ms: 4, MB: 1, x: 2, "MB/s": 1 } as const;
const amount = (value: number, unit: Row["unit"]): string =>
  `${value.toFixed(unit === "ms" && value >= 1 ? 1 : digits[unit])} ${unit}`;

function line({ what, unit, value, bar, least, why }: Row): string {
  const said = value === undefined ? "not measured" : amount(value, unit);
  const limit = bar !== undefined ? `<= ${bar} ${unit}` : least !== undefined ? `>= ${least} ${unit}` : "";
  const verdict =
    value === undefined
      ? (why ?? "")
      : bar !== undefined && value > bar
        ? "OVER"
        : least !== undefined && value < least
          ? "UNDER"
          : limit && "ok";
  return `${what.padEnd(62)}${said.padStart(14)}  ${limit.padEnd(12)}${verdict}`.trimEnd();
}

const rows = await bench({
  names: positionals,
  ...(values.peers ? { peers: true } : {}),
  onRows: (measured) => {
    if (!values.json) for (const row of measured) console.log(line(row));
  },
});
if (values.json)
  console.log(
    JSON.stringify({ node: process.version, platform: `${process.platform}-${process.arch}`, rows }, null, 2),
  );
