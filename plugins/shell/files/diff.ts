/** Unified diffs, for the model that edited and for the person who watches. */

/** Milliseconds after which two texts are too different to compare line by line. */
const DIFF_MS = 2_000;

/**
 * The difference of two texts as a unified diff with three lines of context; "" when they are equal. Texts that are
 * too different to compare in two seconds give a statement of their sizes.
 */
export async function unifiedDiff(path: string, before: string, after: string): Promise<string> {
  if (before === after) return "";
  const { createTwoFilesPatch, FILE_HEADERS_ONLY: headerOptions } = await import("diff");
  const [from, to] = ["a", "b"].map((side) => `${side}/${path.replace(/\p{Cc}/gu, "?")}`) as [string, string];
  const options = { context: 3, timeout: DIFF_MS, headerOptions };
  const patch = createTwoFilesPatch(from, to, before, after, undefined, undefined, options);
  const sizes = `${before.length} characters became ${after.length}`;
  return patch ?? `--- ${from}\n+++ ${to}\n[too different to compare: ${sizes}]\n`;
}
