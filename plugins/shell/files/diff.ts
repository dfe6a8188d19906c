/** Unified diffs, for the model that edited and for the person who watches. */
import type { createTwoFilesPatch } from "diff";

type Patch = typeof createTwoFilesPatch;
/** Milliseconds after which two texts are too different to compare line by line. */
const DIFF_MS = 2_000;

/**
 * The difference of two texts as a unified diff with three lines of context; "" when they are equal. Texts that are
 * too different to compare in two seconds give a statement of their sizes.
 */
export async function unifiedDiff(path: string, before: string, after: string): Promise<string> {
  const { createTwoFilesPatch, FILE_HEADERS_ONLY } = await import("diff");
  return patchOf(createTwoFilesPatch, FILE_HEADERS_ONLY, path, before, after);
}

function patchOf(
  make: Patch,
  headerOptions: Parameters<Patch>[6]["headerOptions"] & object,
  path: string,
  before: string,
  after: string,
): string {
  if (before === after) return "";
  const name = path.replace(/[\p{Cc}]/gu, "?");
  const patch = make(`a/${name}`, `b/${name}`, before, after, undefined, undefined, {
    context: 3,
    timeout: DIFF_MS,
    headerOptions,
  });
  return (
    patch ??
    `--- a/${name}\n+++ b/${name}\n[too different to compare: ${before.length} characters became ${after.length}]\n`
  );
}
