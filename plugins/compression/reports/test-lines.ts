/** What a line of a test runner's output says, whichever runner wrote it. */
import { isAlarming } from "../alarm.ts";

export type TestLine =
  /** A test, a file or a package that passed, or that a test has begun. */
  | "pass"
  /** What must stay: failures, their messages, summaries, warnings, everything unknown. */
  | "stay"
  /** Nothing by itself: an empty line. */
  | "blank";

/** A longer line is no report of one test. */
const LONGEST = 400;

const PASS: readonly RegExp[] = [
  // jest, vitest, mocha, node's spec reporter
  /^\s*(?:✓|✔|√)\s/,
  /^PASS\s+\S+/,
  // pytest: verbose, and rows of dots
  /^[^\s:]{1,300}::\S.*\sPASSED(?:\s+\[\s*\d+%\])?\s*$/,
  /^\S+\.py\s+\.+(?:\s+\[\s*\d+%\])?\s*$/,
  /^\.{4,}(?:\s+\[\s*\d+%\])?\s*$/,
  // unittest, go, cargo
  /^\w+ \([\w.]+\) \.\.\. ok\s*$/,
  /^\s*=== (?:RUN|PAUSE|CONT|NAME)\s/,
  /^\s*--- PASS: /,
  /^ok\s+\S+\s+(?:\d+(?:\.\d+)?s|\(cached\))/,
  /^\?\s+\S+\s+\[no test files\]/,
  /^test \S.* \.\.\. (?:bench:.*|ok(?: <[\d.]+s>)?)\s*$/,
  /^\s+(?:Compiling|Downloaded|Downloading|Fresh) \S+ v\d/,
  // the plan of a nested TAP test
  /^\s+1\.\.\d+\s*$/,
  // maven, gradle, dotnet, ctest, googletest, rspec documentation
  /^\[INFO\] (?:Running |Tests run: \d+, Failures: 0, Errors: 0.* -- in )/,
  /^\S[^>\n]* > .* PASSED\s*$/,
  /^\s+Passed \S.*\[.*\]\s*$/,
  /^\s*\d+\/\d+ Test\s+#\d+: .*\s+Passed\s+/,
  /^\[\s*(?:RUN|OK|-{10})\s*\]/,
];
/** `ok 12 - adds`: an `ok` of TAP, but for those that say why they did not run. */
const TAP = /^(\s*)ok \d+\b(?!.*#\s*(?:skip|todo))/i;

export function kindOf(line: string): TestLine {
  if (line.trim() === "") return "blank";
  if (line.length > LONGEST) return "stay";
  return TAP.test(line) || PASS.some((pattern) => pattern.test(line)) ? "pass" : "stay";
}

/**
 * A name that stands above its tests, as `describe` prints it: words, indented. What a program prints begins in the first
 * column, and what a matcher says of a failure has words of its own.
 */
export const isTitle = (line: string): boolean =>
  /^(?:\s+|▶ )[\p{L}\p{N}#.$_<@/(-][^\n]{0,160}$/u.test(line) && !TALKS.test(line) && !isAlarming(line);
const TALKS = /^\s*(?:at|console\.\w+|expect\w*|received|actual|got|assert\w*|diff|hint|note|seed)\b|[{};:]$/i;

export const indentOf = (line: string): number => /^\s*/.exec(line)?.[0].length ?? 0;

/** A file or a package of tests, whose time is not that of one test. */
export const isGroup = (line: string): boolean => /^(?:PASS|ok)\s+\S+[./]/.test(line);

/** How long a test took, in milliseconds. */
export function durationOf(line: string): number | undefined {
  const [, amount, unit] = /[([\s](\d+(?:\.\d+)?)\s?(ms|s|m)\b[)\]]?/.exec(line) ?? [];
  return amount === undefined ? undefined : Number(amount) * (unit === "ms" ? 1 : unit === "s" ? 1000 : 60_000);
}
