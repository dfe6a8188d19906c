/** `caveman catalog`: the price list the runtime goes by; its files when there is a source checkout. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { CATALOG_SHA256, type Catalog, catalog, type PriceEntry, type Rates, type Row } from "../../catalog/index.ts";
import { describe, nearest } from "../../kernel/errors.ts";
import { type Args, EXIT, text } from "../command.ts";
import { mistyped, usage } from "../errors.ts";
import { table } from "../render/table.ts";
import type { Terminal } from "../render/terminal.ts";

type Action = (target: string | undefined, json: boolean, terminal: Terminal) => Promise<number>;

const actions: Readonly<Record<string, Action>> = { list, show, validate, import: importRates, update };

export async function execute(args: Args, terminal: Terminal): Promise<number> {
  const name = text(args, "action") ?? "";
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (!action)
    throw usage(
      `Unknown action of catalog: ${mistyped(name, Object.keys(actions))}`,
      `Actions: ${Object.keys(actions).join(", ")}.`,
    );
  return action(text(args, "target"), args.json === true, terminal);
}

const print = (terminal: Terminal, value: unknown): void => terminal.out(`${JSON.stringify(value, null, 2)}\n`);
const nameOf = (row: Row): string => `${row.provider}/${row.model}`;

async function list(target: string | undefined, json: boolean, terminal: Terminal): Promise<number> {
  const known = catalog();
  const provider = target === undefined ? undefined : known.canonicalProvider(target);
  const rows = known.rows.filter((row) => provider === undefined || row.provider === provider);
  const providers = [...new Set(rows.map((row) => row.provider))];
  if (provider !== undefined && rows.length === 0)
    throw usage(
      `No provider has the name ${mistyped(target ?? "", [...new Set(known.rows.map((row) => row.provider))])}`,
      target?.includes("/") ? `For one model: caveman catalog show ${target}` : "Run caveman catalog list for all.",
    );
  if (json) {
    print(terminal, {
      date: known.date,
      sha256: CATALOG_SHA256,
      providers: providers.length,
      models: rows.length,
      rows,
    });
    return EXIT.done;
  }
  const head = ["model", "input", "output", "cache read", "cache write", "context", "cache", ""];
  terminal.out(
    table([
      head,
      ...rows.map((row) => {
        const { input, output, cacheRead, cacheWrite } = ratesOn(row, today());
        return [
          nameOf(row),
          ...[input, output, cacheRead, cacheWrite].map(dollars),
          row.limits.context === undefined ? "-" : grouped(row.limits.context),
          row.cache.mode,
          [row.prices.length > 1 || row.prices.some((entry) => entry.tiers) ? "more rates" : "", lifecycleNote(row)]
            .filter(Boolean)
            .join(", "),
        ];
      }),
    ]),
  );
  terminal.out(
    `\n${rows.length} models of ${providers.length} provider${providers.length === 1 ? "" : "s"}, dollars per million tokens, catalog of ${known.date}\n`,
  );
  return EXIT.done;
}

async function show(target: string | undefined, json: boolean, terminal: Terminal): Promise<number> {
  const row = rowNamed(target, catalog());
  if (json) {
    print(terminal, row);
    return EXIT.done;
  }
  terminal.out(`${nameOf(row)}  ${row.region}, ${row.lifecycle}\n\n`);
  terminal.out(table([["dollars per million tokens", ...RATES.map(([, label]) => label)], ...priceRows(row)], "  "));
  const { limits, cache, capabilities, provenance } = row;
  const facts: [string, string][] = [
    ["currency", row.currency],
    ["context", limits.context === undefined ? "unknown" : `${grouped(limits.context)} tokens`],
    ["output limit", limits.output === undefined ? "unknown" : `${grouped(limits.output)} tokens`],
    ["cache", cacheLine(row)],
    ...Object.entries(capabilities),
    ["aliases", row.aliases.join(", ") || "none"],
    ["not priced", row.unmetered.join(", ") || "nothing named"],
    ["verified_at", row.verified_at],
    [
      "from",
      `${provenance.source} ${provenance.entry}${provenance.corrected ? `, corrected: ${provenance.corrected.join(", ")}` : ""}`,
    ],
    ...(row.sources.length > 0 ? row.sources : ["none"]).map((url, at): [string, string] => [
      at === 0 ? "sources" : "",
      url,
    ]),
  ];
  const cached = cache.mode === "explicit" || cache.mode === "implicit";
  terminal.out(`\n${table(facts, "  ")}`);
  if (cached && cache.minPrefix === undefined) terminal.out("\n  The minimum prefix of the cache is not known here.\n");
  return EXIT.done;
}

/** @throws CavemanError `cave_cli_usage` with the nearest name. */
export function rowNamed(name: string | undefined, known: Catalog): Row {
  const slash = name?.indexOf("/") ?? -1;
  if (name === undefined || slash < 1 || slash === name.length - 1)
    throw usage(
      `A model is named provider/model, got ${name === undefined ? "nothing" : `"${name}"`}`,
      "For example anthropic/claude-haiku-4-5.",
    );
  const row = known.lookup(name.slice(0, slash), name.slice(slash + 1));
  if (row) return row;
  const meant = nearest(name, known.rows.map(nameOf));
  throw usage(
    `The catalog has no model "${name}"${meant ? `, did you mean "${meant}"?` : ""}`,
    "Run caveman catalog list, or bring your own rates with caveman catalog import.",
  );
}

const RATES: readonly (readonly [keyof Rates, string])[] = [
  ["input", "input"],
  ["output", "output"],
  ["cacheRead", "cache read"],
  ["cacheWrite", "write 5 min"],
  ["cacheWrite1h", "write 1 h"],
  ["reasoning", "reasoning"],
  ["requests", "1000 requests"],
];
const dollars = (rate: string | undefined): string => rate ?? "-";
const grouped = (count: number): string => count.toLocaleString("en-US");
const today = (): string => new Date().toISOString().slice(0, 10);

const priceRows = (row: Row): string[][] =>
  row.prices.flatMap((entry) => [
    [conditions(entry), ...RATES.map(([key]) => dollars(entry.rates[key]))],
    ...(entry.tiers ?? []).map(({ above, rates }) => [
      `  input over ${grouped(above)}`,
      ...RATES.map(([key]) => dollars(rates[key])),
    ]),
  ]);

const conditions = ({ from, hours }: PriceEntry): string =>
  [from === undefined ? "" : `from ${from}`, hours === undefined ? "" : `${hours.start}-${hours.end} UTC`]
    .filter(Boolean)
    .join(", ") || "standard";

/** The rates outside special hours on a day. */
const ratesOn = ({ prices }: Row, date: string): Rates =>
  prices.findLast(({ from, hours }) => hours === undefined && (from === undefined || from <= date))?.rates ?? {};
const lifecycleNote = ({ lifecycle }: Row): string => (lifecycle === "active" ? "" : lifecycle);

function cacheLine({ cache }: Row): string {
  const { mode, minPrefix, ttl } = cache;
  return [
    mode,
    minPrefix === undefined ? "" : `at least ${grouped(minPrefix)} tokens`,
    ttl === undefined ? "" : `kept ${grouped(ttl)} s`,
  ]
    .filter(Boolean)
    .join(", ");
}

async function validate(target: string | undefined, json: boolean, terminal: Terminal): Promise<number> {
  const directory = resolve(target ?? filesFor("validate", "catalog"));
  const { validateCatalog } = await source<typeof import("../../catalog/validate.ts")>("validate");
  const problems = await validateCatalog({ directory });
  if (json) print(terminal, { ok: problems.length === 0, directory, problems });
  else if (problems.length === 0) terminal.out(`The catalog in ${directory} is sound\n`);
  else {
    terminal.out(table(problems.map(({ code, where, message }) => [code, where, message])));
    terminal.err(`${problems.length} problem${problems.length === 1 ? "" : "s"} in ${directory}\n`);
  }
  return problems.length === 0 ? EXIT.done : EXIT.failed;
}

async function importRates(target: string | undefined, json: boolean, terminal: Terminal): Promise<number> {
  if (target === undefined)
    throw usage("The file with the rates is missing", "Pass a LiteLLM price file (.json), or YAML with rows.");
  const { CatalogImportError, importLiteLlm, importYaml } = await import("../../catalog/import.ts");
  const content = await readFile(target, "utf8").catch((error: unknown) => {
    throw usage(
      `${target} cannot be read: ${describe(error)}`,
      "Pass a LiteLLM price file (.json), or YAML with rows.",
    );
  });
  const from = { file: basename(target), date: today() };
  const imported = await (target.endsWith(".json") && !hasRows(content)
    ? Promise.resolve().then(() => importLiteLlm(content, from))
    : importYaml(content, from)
  ).catch((error: unknown) => {
    throw error instanceof CatalogImportError ? usage(error.message, "Correct the file; nothing was imported.") : error;
  });
  if (json) {
    print(terminal, imported);
    return EXIT.done;
  }
  terminal.out(
    table([
      ["model", "input", "output", "cache read", "cache write"],
      ...imported.rows.map((row) => {
        const { input, output, cacheRead, cacheWrite } = ratesOn(row, from.date);
        return [nameOf(row), ...[input, output, cacheRead, cacheWrite].map(dollars)];
      }),
    ]),
  );
  for (const { model, reason } of imported.skipped) terminal.err(`skipped ${model}: ${reason}\n`);
  for (const row of imported.rows)
    if (row.currency !== "USD")
      terminal.err(`${nameOf(row)} is billed in ${row.currency}: its calls are unpriced, only USD is priced\n`);
  terminal.out(
    `\n${imported.rows.length} row${imported.rows.length === 1 ? "" : "s"}, dollars per million tokens. With --json they are printed as the pricing plugin takes them, in its options rows and providers.\n`,
  );
  return EXIT.done;
}

/** Rows of ours written as JSON, which is YAML too. */
function hasRows(content: string): boolean {
  try {
    const value: unknown = JSON.parse(content);
    return typeof value === "object" && value !== null && "rows" in value && Array.isArray(value.rows);
  } catch {
    return false;
  }
}

async function update(_target: string | undefined, json: boolean, terminal: Terminal): Promise<number> {
  const script = filesFor("update", "catalog/generate.ts");
  const { spawn } = await import("node:child_process");
  const child = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  let wrong = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    said += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    wrong += chunk;
  });
  const code = await new Promise<number | null>((done, fail) => child.on("error", fail).on("close", done));
  const written = said.split("\n").filter((line) => line.startsWith("wrote "));
  const problem = code === 0 ? undefined : (/^(?:Error: )(.*)$/m.exec(wrong)?.[1] ?? wrong.trim().split("\n")[0] ?? "");
  if (json)
    print(terminal, { ok: code === 0, written: written.map((line) => line.slice(6)), problem: problem ?? null });
  else if (problem !== undefined) terminal.err(`The catalog was not updated: ${problem}\n`);
  else
    terminal.out(
      written.length > 0 ? `${written.join("\n")}\n` : "Nothing changed: the catalog is what the data has\n",
    );
  return code === 0 ? EXIT.done : EXIT.failed;
}

/** The files the catalog is made of are in a source checkout and not in the package. */
const CHECKOUT = new URL("../../", import.meta.url);

function filesFor(action: string, path: string): string {
  const file = fileURLToPath(new URL(path, CHECKOUT));
  if (existsSync(new URL("catalog/generate.ts", CHECKOUT))) return file;
  throw usage(
    `catalog ${action} works on the catalog's files, which the installed package does not carry`,
    action === "update"
      ? "Install a newer caveman-agent for newer prices, or bring your own rates with caveman catalog import. In a source checkout: npm update @pydantic/genai-prices, then caveman catalog update."
      : "Run it in a source checkout of caveman-agent.",
  );
}

/** A module of the catalog's tools, by its path, so that no build takes it along. */
async function source<T>(name: string): Promise<T> {
  return (await import(pathToFileURL(filesFor(name, `catalog/${name}.ts`)).href)) as T;
}
