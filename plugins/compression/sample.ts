/** A bounded sample of an input's lines: enough to tell what it is, however long it is. */

const HEAD = 12_288;
const PART = 4_096;
/** Longer lines are looked at from their beginning. */
const MAX_LINE = 512;

export interface Sample {
  /** Lines of the beginning, in order. */
  readonly head: readonly string[];
  /** Lines of the beginning, the middle and the end that are not blank, without their line ends. */
  readonly lines: readonly string[];
  /** Whether the sample is the whole input. */
  readonly whole: boolean;
}

export function sampleOf(input: string): Sample {
  const whole = input.length <= HEAD + 2 * PART;
  if (whole) {
    const head = linesOf(input);
    return { head, lines: head.filter(filled), whole };
  }
  const head = linesOf(input.slice(0, HEAD));
  if (head.length > 1) head.pop();
  const middle = input.length >> 1;
  const parts = [input.slice(middle, middle + PART), input.slice(-PART)].flatMap((part) => {
    const lines = linesOf(part);
    // The first line of a part has lost its beginning, and all but the last part's last line its end.
    return lines.length > 2 ? lines.slice(1, -1) : [];
  });
  return { head, lines: [...head, ...parts].filter(filled), whole };
}

const filled = (line: string): boolean => line.trim() !== "";

const linesOf = (text: string): string[] =>
  text.split("\n").map((line) => {
    const end = line.endsWith("\r") ? line.length - 1 : line.length;
    return line.slice(0, Math.min(end, MAX_LINE));
  });
