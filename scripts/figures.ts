/**
 * `npm run figures -- [name] [--json]`: every figure that a README claims, measured now. A name alone runs only the case
 * behind it. Figures beside peers install them first, in a folder of their own.
 */
import { parseArgs } from "node:util";
import type { Row } from "../__tests__/bench/case.ts";
import { bench } from "../__tests__/bench/run.ts";

/** Figure → the row of the bench it is read from. The part before the first dot is the row's case. */
const figures: Readonly<Record<string, string>> = {
  "bare-call": "bare.dist.10",
  "bare-growth": "bare.dist.growth",
  "standard-call": "standard.dist.10",
  "long-run": "long-run.dist",
  import: "start-up.import",
  help: "start-up.help",
  install: "install.production",
  "bare-against-pi": "peers.bare/pi-agent-core.10",
  "bare-against-ai": "peers.bare/ai.10",
  "standard-against-pi": "peers.standard/pi-agent-core.10",
  "standard-against-ai": "peers.standard/ai.10",
};

interface Figure extends Pick<Row, "what" | "unit" | "bar" | "least"> {
  /** Null when it was not measured. */
  readonly value: number | null;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "boolean", default: false } },
});
const unknown = positionals.find((name) => !Object.hasOwn(figures, name));

if (unknown === undefined) await main();
else {
  console.error(`no figure "${unknown}"; there are ${Object.keys(figures).join(", ")}`);
  process.exitCode = 2;
}

async function main(): Promise<void> {
  const wanted = Object.entries(figures).filter(([name]) => positionals.length === 0 || positionals.includes(name));
  const cases = new Set(wanted.map(([, id]) => id.slice(0, id.indexOf("."))));
  const rows = await bench({ names: [...cases] });
  const found = wanted.map(([name, id]): [string, Figure] => {
    const row = rows.find((each) => each.id === id);
    if (!row) return [name, { what: `${id}: there is no dist/: npm run build`, unit: "ms", value: null }];
    const { what, unit, value, bar, least } = row;
    return [
      name,
      {
        what,
        unit,
        value: value ?? null,
        ...(bar === undefined ? {} : { bar }),
        ...(least === undefined ? {} : { least }),
      },
    ];
  });
  if (values.json) console.log(JSON.stringify(Object.fromEntries(found), null, 2));
  else
    for (const [name, { what, unit, value }] of found) {
      const said = value === null ? "not measured" : `${value >= 10 ? value.toFixed(0) : value.toPrecision(2)} ${unit}`;
      console.log(`${name.padEnd(22)}${said.padEnd(14)}${what}`);
    }
}
