/** Lines as units: which runs of them go, and what stands in their place. */
import { elided } from "./markers.ts";

export interface Elision {
  readonly text: string;
  readonly kept: number;
  readonly dropped: number;
}
export interface Run {
  readonly from: number;
  readonly to: number;
}

/** Runs of lines that are not kept and at least `least` long. Lines of shorter runs count as kept from then on. */
export function runsOf(kept: Uint8Array, least: number): Run[] {
  const runs: Run[] = [];
  for (let from = 0; from < kept.length; from++) {
    if (kept[from]) continue;
    let to = from + 1;
    while (to < kept.length && !kept[to]) to++;
    if (to - from >= least) runs.push({ from, to });
    else kept.fill(1, from, to);
    from = to;
  }
  return runs;
}

export interface ElideOptions {
  /** Shortest run that is left out. */
  readonly least: number;
  /** What a line is called: `lines`, `context lines`. */
  readonly unit: string;
  /** What is true of the left-out lines of all runs; said once, by the first marker. */
  readonly summary?: (runs: readonly Run[]) => string;
  /** Spells a marker in the place of a run; default: the plain marker. */
  readonly spell?: (marker: string, run: Run) => string;
}

/** Leaves out what is not kept, or undefined when no run is long enough. */
export function elideLines(lines: readonly string[], kept: Uint8Array, options: ElideOptions): Elision | undefined {
  const { least, unit, summary, spell = (marker) => marker } = options;
  const runs = runsOf(kept, least);
  if (runs.length === 0) return undefined;
  const said = summary?.(runs) ?? "";
  const dropped = runs.reduce((sum, { from, to }) => sum + to - from, 0);
  const out: string[] = [];
  let at = 0;
  for (const run of runs) {
    for (; at < run.from; at++) out.push(lines[at] ?? "");
    const first = run === runs[0] && said !== "";
    out.push(
      spell(
        elided(run.to - run.from, unit, first ? (runs.length > 1 ? `all ${dropped} elided: ${said}` : said) : ""),
        run,
      ),
    );
    at = run.to;
  }
  for (; at < lines.length; at++) out.push(lines[at] ?? "");
  return { text: out.join("\n"), kept: lines.length - dropped, dropped };
}

/** Keeps the first and the last lines that are not blank. */
export function keepEdges(lines: readonly string[], kept: Uint8Array, head: number, tail: number): void {
  for (let i = 0, left = head; i < lines.length && left > 0; i++) {
    kept[i] = 1;
    if (lines[i]?.trim()) left--;
  }
  for (let i = lines.length - 1, left = tail; i >= 0 && left > 0; i--) {
    kept[i] = 1;
    if (lines[i]?.trim()) left--;
  }
}
