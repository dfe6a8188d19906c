/**
 * What test runners print: runs of passing tests become a count, with the slowest of them by name. Failures, their
 * messages, skipped tests and summaries stay to the letter, indentation included.
 */
import { isAlarming } from "../alarm.ts";
import type { Compressed } from "../compressor.ts";
import { elided } from "../markers.ts";
import { relevant } from "../relevant.ts";
import { durationOf, indentOf, isGroup, isTitle, kindOf } from "./test-lines.ts";

/** Lines of passing tests that a marker may stand for. */
const LEAST = 3;
/** Lines a query may keep. */
const RELEVANT_LINES = 16;

export function shorterTestOutput(input: string, query: string): Compressed | undefined {
  const lines = input.split("\n");
  const going = new Uint8Array(lines.length);
  lines.forEach((line, index) => {
    if (kindOf(line) === "pass") going[index] = 1;
  });
  if (going.every((go) => go === 0)) return undefined;
  belongings(lines, going);
  titles(lines, going);
  const passing = (index: number): string | undefined => (going[index] ? lines[index] : undefined);
  for (const index of relevant(lines.length, passing, query, RELEVANT_LINES)) going[index] = 0;
  const slowest = slowestOf(lines, going);
  const out: string[] = [];
  let dropped = 0;
  for (let at = 0; at < lines.length; ) {
    const end = runEnd(lines, going, at);
    const count = going.subarray(at, end).reduce((sum, go) => sum + go, 0);
    if (count < LEAST) {
      out.push(lines[at++] ?? "");
      continue;
    }
    const named = slowest >= at && slowest < end ? `slowest: ${(lines[slowest] ?? "").trim().slice(0, 120)}` : "";
    out.push(elided(count, "lines of passing tests", named));
    dropped += count;
    at = end;
  }
  if (dropped === 0) return undefined;
  return { text: out.join("\n"), method: "test-output", unit: "lines", kept: lines.length - dropped, dropped };
}

/** The end of a run of lines that go; empty lines between them go too, those after them stay. */
function runEnd(lines: readonly string[], going: Uint8Array, from: number): number {
  let end = from;
  for (let at = from; at < lines.length; at++) {
    if (going[at] === 1) end = at + 1;
    else if ((lines[at] ?? "").trim() !== "") break;
  }
  return end;
}

/** What a passing test said goes with it: TAP's block of details, go's log lines between start and end. */
function belongings(lines: readonly string[], going: Uint8Array): void {
  for (let at = 0; at < lines.length; at++) {
    if (going[at] !== 1) continue;
    const line = lines[at] ?? "";
    if (/^\s*ok \d/.test(line) && /^\s*---\s*$/.test(lines[at + 1] ?? "")) {
      let end = at + 2;
      while (end < lines.length && end < at + 40 && !/^\s*\.\.\.\s*$/.test(lines[end] ?? "")) end++;
      if (/^\s*\.\.\.\s*$/.test(lines[end] ?? "") && !isAlarming(lines.slice(at + 1, end).join("\n")))
        going.fill(1, at + 1, end + 1);
    }
    const started = /^=== RUN\s+(\S+)/.exec(line)?.[1];
    if (!started) continue;
    let end = at + 1;
    while (end < lines.length && /^\s+\w+_test\.go:\d+: /.test(lines[end] ?? "")) end++;
    if (
      end > at + 1 &&
      lines[end]?.startsWith(`--- PASS: ${started} `) &&
      !isAlarming(lines.slice(at + 1, end).join("\n"))
    )
      going.fill(1, at + 1, end);
  }
  failedStarts(lines, going);
}

/** `=== RUN` of a test that fails or is skipped stays with what it prints. */
function failedStarts(lines: readonly string[], going: Uint8Array): void {
  const passed = new Set<string>();
  for (const line of lines) {
    const name = /^\s*--- PASS: (\S+)/.exec(line)?.[1];
    if (name) passed.add(name);
  }
  if (passed.size === 0) return;
  lines.forEach((line, index) => {
    const name = /^=== RUN\s+(\S+)/.exec(line)?.[1];
    if (name && !passed.has(name)) going[index] = 0;
  });
}

/** A title goes when everything under it does; the name of a TAP test when its result does. */
function titles(lines: readonly string[], going: Uint8Array): void {
  // Read from the end. For each depth: whether anything at it stays, and whether the line that comes next does.
  const open: { readonly indent: number; stays: boolean; next: boolean }[] = [];
  for (let at = lines.length - 1; at >= 0; at--) {
    const line = lines[at] ?? "";
    if (line.trim() === "") continue;
    const indent = indentOf(line);
    let under: boolean | undefined;
    for (let last = open.at(-1); last && last.indent > indent; last = open.at(-1)) {
      under = under === true || last.stays;
      open.pop();
    }
    const level = open.at(-1)?.indent === indent ? open.at(-1) : undefined;
    if (/^\s*# Subtest: /.test(line)) {
      if (level?.next === false) going[at] = 1;
      continue;
    }
    if (going[at] !== 1 && under === false && isTitle(line)) going[at] = 1;
    const stays = going[at] !== 1;
    if (level) {
      level.stays ||= stays || under === true;
      level.next = stays;
    } else open.push({ indent, stays: stays || under === true, next: stays });
  }
}

/** The test that took longest, if that says something: twice as long as a typical one, and a tenth of a second. */
function slowestOf(lines: readonly string[], going: Uint8Array): number {
  const tests = (index: number): boolean => going[index] === 1 && !isGroup(lines[index] ?? "");
  const times: number[] = [];
  let slowest = -1;
  let most = 100;
  lines.forEach((line, index) => {
    const time = tests(index) ? durationOf(line) : undefined;
    if (time === undefined) return;
    times.push(time);
    if (time > most) [most, slowest] = [time, index];
  });
  const typical = times.sort((a, b) => a - b)[times.length >> 1] ?? 0;
  return most >= 2 * typical ? slowest : -1;
}
