/**
 * Lock files: which packages in which versions, and everything that is out of the ordinary (another source than the
 * registry, deprecations, install scripts). Checksums, addresses and version ranges are counted.
 */
import type { Compressed, Compressor } from "../compressor.ts";
import { elided } from "../markers.ts";
import { type Locked, type LockedPackage, readLockFile } from "./lock-formats.ts";

const LEAST_PACKAGES = 4;
/** Packages a line: a shorter view with room to read. */
const LINE = 100;

export const lockFile: Compressor = {
  type: "lock-file",
  keeps: "Every package with its version, direct dependencies, unusual sources, deprecations and install scripts.",
  compress: (input) => {
    const locked = readLockFile(input);
    if (!locked || locked.packages.length < LEAST_PACKAGES) return undefined;
    const text = written(locked);
    return {
      text,
      method: locked.format,
      unit: "lines",
      kept: locked.packages.length,
      dropped: locked.dropped,
    } satisfies Compressed;
  },
};

function written({ format, head, packages, dropped, what }: Locked): string {
  const usual = usualOrigin(packages);
  const out = [
    `${format}: ${packages.length} packages${usual ? `, from ${usual} where nothing else is said` : ""}`,
    ...head,
  ];
  const notes: string[] = [];
  let line = "";
  for (const { name, version, source, remarks } of packages) {
    const label = `${name}@${version}`;
    const odd = source && originOf(source) !== usual ? [`from ${source}`] : [];
    if (odd.length + remarks.length > 0) notes.push(`${label}: ${[...odd, ...remarks].join("; ")}`);
    if (line.length + label.length > LINE) {
      out.push(line);
      line = "";
    }
    line += line ? ` ${label}` : label;
  }
  if (line) out.push(line);
  out.push(...notes, elided(dropped, "lines", what));
  return `${out.join("\n")}\n`;
}

const originOf = (source: string): string => /^[a-z+]+:\/\/[^/]+/.exec(source)?.[0] ?? source;

/** Where most packages come from. A source that is not this one is worth a word. */
function usualOrigin(packages: readonly LockedPackage[]): string | undefined {
  const counts = new Map<string, number>();
  for (const { source } of packages) if (source) counts.set(originOf(source), (counts.get(originOf(source)) ?? 0) + 1);
  const [origin, count] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? [];
  return count !== undefined && count * 2 > packages.length ? origin : undefined;
}
