/**
 * `caveman compress`, `detect`, `stats`, `engine`: the payload goes to stdout, the report to stderr. Whatever goes wrong,
 * `compress` writes the input as it came.
 */
import { CavemanError, type Run } from "../../kernel/index.ts";
import { Compression, Recovery, Tokenizer } from "../services.ts";
import { builtinRegistry } from "./builtin.ts";
import { createEngine, type Engine, MAX_INPUT_BYTES, type Report } from "./engine.ts";
import { type Input, readInput, readPath, writeBytes } from "./input.ts";
import { APPROXIMATE, approximately } from "./output-stage.ts";

type Args = Readonly<Record<string, unknown>>;
interface Output {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}
/** A run without a model, with the plugins of the configuration: where commands find the store and the tokenizer. */
export interface CommandHost {
  open(): Promise<{ readonly run: Run; close(): Promise<unknown> }>;
}

interface Tools {
  readonly engine: Pick<Engine, "compress" | "detect">;
  readonly counter: string;
  readonly types: { readonly type: string; readonly keeps: string }[];
  readonly recovery: Recovery | undefined;
  /** What plugins said about this run so far: why the store took nothing. */
  notices(): readonly string[];
}

/** Without a host there is no store, so nothing is left out, and counts are approximate. */
async function withTools<T>(host: CommandHost | undefined, work: (tools: Tools) => Promise<T>): Promise<T> {
  if (!host) {
    const registry = builtinRegistry();
    return work({
      engine: createEngine(registry, approximately),
      counter: APPROXIMATE,
      types: registry.list(),
      recovery: undefined,
      notices: () => [],
    });
  }
  const { run, close } = await host.open();
  try {
    const service = run.service(Compression);
    return await work({
      engine: service,
      counter: run.find(Tokenizer)?.identity.backend ?? APPROXIMATE,
      types: service.types(),
      recovery: run.find(Recovery),
      notices: () => run.ledger.of("notice").map(({ message }) => message),
    });
  } finally {
    await close();
  }
}

const textOf = (args: Args, name: string): string | undefined => {
  const value = args[name];
  return typeof value === "string" && value !== "" ? value : undefined;
};

async function compress(args: Args, output: Output, host?: CommandHost): Promise<number> {
  const say = (report: object, sentence: string): void =>
    output.err(`${args.json === true ? JSON.stringify(report) : sentence}\n`);
  const passed = (reason: string, why: string): void => say({ reason, message: why }, `passed through: ${why}`);
  const input = await readInput(textOf(args, "file"));
  if (input.rest || input.text === undefined) {
    await writeBytes(input.bytes, input.rest);
    if (input.rest) passed("input_too_large", "cave_input_too_large: larger than 64 MiB");
    else passed("not_text", "no valid UTF-8");
    return 0;
  }
  const { text } = input;
  const type = textOf(args, "type");
  const query = textOf(args, "query");
  let view = text;
  let tell: () => void = () => undefined;
  try {
    await withTools(host, async ({ engine, counter, types, recovery, notices }) => {
      if (type !== undefined && !types.some((entry) => entry.type === type)) {
        tell = () =>
          passed(
            "unknown_type",
            `cave_content_type_unknown: no compressor for ${JSON.stringify(type)}; caveman engine registry lists the types`,
          );
        return;
      }
      const { text: shown, report } = await engine.compress(text, {
        ...(type === undefined ? {} : { type }),
        ...(query === undefined ? {} : { query }),
        ...(recovery ? { keep: (original, about) => recovery.keep(original, about) } : {}),
      });
      view = shown;
      const said = report.reason === "no_store" ? notices() : [];
      tell = () =>
        say(
          { ...report, counter, ...(said.length > 0 ? { notices: said } : {}) },
          [sentence(report, counter), ...said].join("\n"),
        );
    });
  } catch (error) {
    // The store may be broken or the configuration wrong: the payload is written all the same.
    view = text;
    tell = () =>
      passed(
        error instanceof CavemanError ? error.code : "unavailable",
        error instanceof CavemanError ? `${error.code}: ${error.message}` : "compression is not available",
      );
  }
  if (view === text) await writeBytes(input.bytes, undefined, output.out);
  else output.out(view);
  tell();
  return 0;
}

function sentence(report: Report, counter: string): string {
  const { contentType, method, tokensBefore, tokensAfter, ratio, unit, kept, dropped, recoveryHandle, reason } = report;
  if (reason !== undefined) return `passed through: ${reason} (${contentType}, ${tokensBefore} tokens, ${counter})`;
  const handle = recoveryHandle ? `; caveman retrieve ${recoveryHandle}` : "";
  return `${contentType} by ${method}: ${tokensBefore} -> ${tokensAfter} tokens, ${(ratio * 100).toFixed(1)} % less (inferred, ${counter}); ${kept} ${unit} kept, ${dropped} left out${handle}`;
}

async function detectType(args: Args, output: Output, host?: CommandHost): Promise<number> {
  const text = whole(await readInput(textOf(args, "file")));
  return withTools(host, async ({ engine }) => {
    const type = engine.detect(text);
    output.out(args.json === true ? `${JSON.stringify({ contentType: type })}\n` : `${type}\n`);
    return 0;
  });
}

function whole({ text, rest }: Input): string {
  if (rest)
    throw new CavemanError("cave_input_too_large", {
      place: "the input",
      expected: `at most ${MAX_INPUT_BYTES} bytes`,
      received: "more",
    });
  // Bytes that are no text are text of no known type.
  return text ?? "";
}

/** What compression would do to files, or to stdin, without storing or writing anything. */
async function stats(args: Args, output: Output, host?: CommandHost): Promise<number> {
  const given = [args.files].flat().filter((file): file is string => typeof file === "string");
  return withTools(host, async ({ engine, counter }) => {
    const rows: { file: string; report: Report }[] = [];
    for (const file of given.length > 0 ? given : ["-"]) {
      const input = await (file === "-" ? readInput() : readPath(file));
      const { report } = await engine.compress(whole(input), { keep: () => SIMULATED });
      const { recoveryHandle: _, ...figures } = { ...report };
      rows.push({ file, report: figures });
    }
    const before = rows.reduce((sum, { report }) => sum + report.tokensBefore, 0);
    const after = rows.reduce((sum, { report }) => sum + report.tokensAfter, 0);
    const total = {
      tokensBefore: before,
      tokensAfter: after,
      ratio: before > 0 ? (before - after) / before : 0,
      basis: "inferred",
      counter,
    };
    if (args.json === true)
      output.out(
        `${JSON.stringify({ files: rows.map(({ file, report }) => ({ file, ...report })), total }, null, 2)}\n`,
      );
    else {
      const line = (file: string, type: string, from: number, to: number): string =>
        `${file.padEnd(32)} ${type.padEnd(16)} ${String(from).padStart(9)} ${String(to).padStart(9)} ${(from > 0 ? ((from - to) / from) * 100 : 0).toFixed(1).padStart(6)} %\n`;
      output.out(
        `${"file".padEnd(32)} ${"type".padEnd(16)} ${"before".padStart(9)} ${"after".padStart(9)} ${"less".padStart(8)}\n`,
      );
      for (const { file, report } of rows)
        output.out(line(file, report.contentType, report.tokensBefore, report.tokensAfter));
      output.out(line("total", "", before, after));
      output.err(`tokens by ${counter}, inferred; nothing was stored\n`);
    }
    return 0;
  });
}

/** Stands for a handle where nothing is stored. */
const SIMULATED = `ccr_${"0".repeat(32)}`;

async function engineRegistry(args: Args, output: Output, host?: CommandHost): Promise<number> {
  if (args.what !== undefined && args.what !== "registry")
    throw new CavemanError("cave_option_invalid", {
      place: "caveman engine",
      expected: "registry",
      received: String(args.what),
    });
  return withTools(host, async ({ types }) => {
    if (args.json === true) output.out(`${JSON.stringify(types, null, 2)}\n`);
    else for (const { type, keeps } of types) output.out(`${type.padEnd(24)} ${keeps}\n`);
    return 0;
  });
}

const json = { type: "boolean", describe: "The report as JSON" } as const;
const file = "A file; default: stdin";

export const commands = {
  compress: {
    usage: "compress [file]",
    describe: "Write a smaller view of an input to stdout, and what was done to stderr",
    positionals: { file },
    options: {
      type: { type: "string", describe: "The content type, instead of detecting it" },
      query: { type: "string", describe: "What to keep in view" },
      json,
    },
    execute: compress,
  },
  detect: {
    usage: "detect [file]",
    describe: "Say what an input is",
    positionals: { file },
    options: { json },
    execute: detectType,
  },
  stats: {
    usage: "stats [files..]",
    describe: "Say what compression would save on files, storing nothing",
    positionals: { files: "Files; default: stdin" },
    options: { json },
    execute: stats,
  },
  engine: {
    usage: "engine [what]",
    describe: "List the compressors: caveman engine registry",
    positionals: { what: "registry" },
    options: { json },
    execute: engineRegistry,
  },
} as const;
