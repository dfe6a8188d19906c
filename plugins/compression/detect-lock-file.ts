/** Tells the lock files of package managers. */

/** `head` is empty for JSON. */
export function isLockFile(input: string, head: readonly string[]): boolean {
  const start = input.slice(0, 4_096);
  if (head.length === 0)
    return (
      /"lockfileVersion"\s*:/.test(start) ||
      (/"content-hash"\s*:/.test(start) && /"packages"\s*:/.test(start)) ||
      (/^\s*\{\s*"_meta"\s*:/.test(start) && /"pipfile-spec"\s*:/.test(start)) ||
      (/^\s*\{\s*"version"\s*:\s*"?\d/.test(start) &&
        /"(?:specifiers|jsr|npm)"\s*:\s*\{/.test(start) &&
        /"integrity"\s*:/.test(start))
    );
  if (/^# yarn lockfile v\d/m.test(start) || /^__metadata:\r?\n\s+version:/m.test(start)) return true;
  if (
    /^lockfileVersion:/m.test(start) &&
    /^(?:importers|packages|dependencies|settings):/m.test(input.slice(0, 65_536))
  )
    return true;
  if (
    /^\[\[package\]\]\s*$/m.test(start) &&
    /^version = "/m.test(start) &&
    /^(?:checksum|source|optional|python-versions|description|files) ?=/m.test(start)
  )
    return true;
  if (/^(?:GEM|PATH|GIT)\r?\n\s{2}remote:/m.test(start)) return true;
  if (/^PODS:\r?\n/.test(start)) return true;
  const sums = head.filter((line) => /^\S+ v\S+ h1:\S+=$/.test(line)).length;
  return sums >= 4 && sums >= head.length * 0.8;
}
