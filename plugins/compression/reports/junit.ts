/** JUnit XML: failing, erroneous and skipped cases stay to the letter, passing ones are counted. */

import type { Compressed } from "../compressor.ts";
import { elided } from "../markers.ts";
import { attribute, type Element, isElement, treeOf } from "../markup/tree.ts";
import { relevant } from "../relevant.ts";

/** Output of a suite in which everything passed, kept up to so many characters. */
const OUTPUT = 400;
/** Passing cases a query may keep. */
const RELEVANT_CASES = 16;

export function shorterJUnit(input: string, query: string): Compressed | undefined {
  const { root, faults } = treeOf(input, "xml");
  if (faults > 0) return undefined;
  const report = new Report(input, root, query);
  const text = report.write(root);
  if (report.dropped === 0) return undefined;
  return { text, method: "junit", unit: "cases", kept: report.kept, dropped: report.dropped };
}

class Report {
  kept = 0;
  dropped = 0;
  readonly #source: string;
  /** Passing cases that the query is about. */
  readonly #wanted: ReadonlySet<Element>;

  constructor(source: string, root: Element, query: string) {
    this.#source = source;
    const cases = casesOf(root);
    const text = (index: number): string | undefined =>
      cases[index] && source.slice(cases[index].start, cases[index].end);
    this.#wanted = new Set(relevant(cases.length, text, query, RELEVANT_CASES).flatMap((index) => cases[index] ?? []));
  }

  write(element: Element): string {
    const parts: string[] = [this.#source.slice(element.start, element.contentStart)];
    let at = element.contentStart;
    let passing: Element[] = [];
    const flush = (): void => {
      const last = passing[passing.length - 1];
      if (!last) return;
      const gap = this.#source.slice(at, passing[0]?.start);
      const space = gap.slice(Math.max(0, gap.lastIndexOf("\n")));
      parts.push(
        space,
        comment(elided(passing.length, passing.length === 1 ? "passing case" : "passing cases", summary(passing))),
      );
      this.dropped += passing.length;
      at = last.end;
      passing = [];
    };
    for (const child of element.children) {
      if (!isElement(child)) continue;
      if (child.name === "testcase" && this.#passed(child)) {
        passing.push(child);
        continue;
      }
      flush();
      parts.push(this.#source.slice(at, child.start), this.#child(child, element));
      at = child.end;
    }
    flush();
    parts.push(this.#source.slice(at, element.end));
    return parts.join("");
  }

  #child(child: Element, parent: Element): string {
    if (child.name === "testsuite" || child.name === "testsuites") return this.write(child);
    if (child.name === "testcase") this.kept++;
    const text = this.#source.slice(child.start, child.end);
    const output = child.name === "system-out" || child.name === "system-err" || child.name === "properties";
    if (!output || text.length <= OUTPUT || !allPassed(parent)) return text;
    this.dropped++;
    return comment(elided(1, child.name, `${text.length} characters`));
  }

  #passed(testcase: Element): boolean {
    if (
      testcase.children.some(
        (child) =>
          isElement(child) && /^(?:failure|error|skipped|rerunFailure|flakyFailure|flakyError)$/.test(child.name),
      )
    )
      return false;
    if (/^(?:failed|error|skipped)/i.test(attribute(testcase, "status") ?? attribute(testcase, "result") ?? ""))
      return false;
    return !this.#wanted.has(testcase);
  }
}

const casesOf = (element: Element): Element[] =>
  element.children.filter(isElement).flatMap((child) => (child.name === "testcase" ? [child] : casesOf(child)));

/** By its own counts. */
const allPassed = (suite: Element): boolean =>
  suite.name === "testsuite" && ["failures", "errors"].every((name) => /^0*$/.test(attribute(suite, name) ?? ""));

const comment = (marker: string): string => `<!-- ${marker.replaceAll("--", "- -")} -->`;

/** Time in all, and the slowest case by name. */
function summary(cases: readonly Element[]): string {
  let [sum, most, slowest] = [0, -1, ""];
  for (const testcase of cases) {
    const time = Number(attribute(testcase, "time") ?? Number.NaN);
    if (Number.isNaN(time)) continue;
    sum += time;
    if (time > most) [most, slowest] = [time, attribute(testcase, "name") ?? ""];
  }
  return most < 0 || cases.length < 3 ? "" : `${sum.toFixed(3)} s in all, slowest ${slowest.slice(0, 80)} ${most} s`;
}
