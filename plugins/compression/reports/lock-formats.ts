/** Reads the lock files of npm, yarn, pnpm, cargo, poetry, uv and go. What does not read as one of them is none. */

export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  /** Where it comes from, when the file says so. */
  readonly source?: string | undefined;
  /** What is out of the ordinary, its source aside. */
  readonly remarks: readonly string[];
}
export interface Locked {
  readonly format: string;
  /** Lines that stay as they are: what the project itself asks for. */
  readonly head: readonly string[];
  readonly packages: readonly LockedPackage[];
  /** Lines that are not shown, and what they held. */
  readonly dropped: number;
  readonly what: string;
}

export function readLockFile(input: string): Locked | undefined {
  const start = input.slice(0, 4_096);
  if (/^\s*\{/.test(start)) return npm(input);
  if (/^# yarn lockfile v1/m.test(start) || /^__metadata:/m.test(start)) return yarn(input);
  if (/^lockfileVersion:/m.test(start)) return pnpm(input);
  if (/^\[\[package\]\]/m.test(start)) return toml(input);
  if (/^\S+ v\S+ h1:/m.test(start)) return goSum(input);
  return undefined;
}

const lineCount = (text: string): number => text.split("\n").filter((line) => line.trim() !== "").length;
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const text = (value: unknown): string => (typeof value === "string" ? value : "");

function npm(input: string): Locked | undefined {
  const root: unknown = JSON.parse(input);
  if (!isRecord(root)) return undefined;
  const entries = isRecord(root.packages) ? root.packages : isRecord(root.dependencies) ? root.dependencies : undefined;
  if (!entries) return undefined;
  const packages: LockedPackage[] = [];
  let head: string[] = [];
  let shown = 0;
  for (const [path, entry] of Object.entries(entries)) {
    if (!isRecord(entry)) continue;
    if (path === "") {
      head = JSON.stringify(entry, null, 1).split("\n");
      shown += head.length;
      continue;
    }
    const at = path.lastIndexOf("node_modules/");
    const nested = at > 0 ? [`in ${path.slice(0, at).replaceAll("node_modules/", "").replace(/\/$/, "")}`] : [];
    const source = text(entry.resolved);
    const remarks = [
      ...(entry.link === true ? ["link"] : []),
      ...(entry.deprecated ? [`deprecated: ${text(entry.deprecated).slice(0, 200)}`] : []),
      ...(entry.hasInstallScript === true ? ["install script"] : []),
      ...(/^https?:/.test(source) && !entry.integrity ? ["no integrity"] : []),
    ];
    packages.push({
      name: at >= 0 ? path.slice(at + "node_modules/".length) : path,
      version: `${text(entry.version) || "local"}${nested.length > 0 ? ` (${nested[0]})` : ""}`,
      source,
      remarks,
    });
  }
  const version = typeof root.lockfileVersion === "number" ? ` v${root.lockfileVersion}` : "";
  const dropped = Math.max(1, lineCount(JSON.stringify(root, null, 1)) - packages.length - shown);
  return {
    format: `npm lock file${version}`,
    head,
    packages,
    dropped,
    what: "addresses, checksums, version ranges, engines, licences",
  };
}

/** Entries of lines that begin in the first column, with the lines indented below. */
function entriesOf(input: string, begins: RegExp): { readonly key: string; readonly lines: readonly string[] }[] {
  const entries: { key: string; lines: string[] }[] = [];
  for (const line of input.split("\n")) {
    const key = begins.exec(line)?.[1];
    if (key !== undefined) entries.push({ key, lines: [] });
    else if (line.trim() !== "") entries[entries.length - 1]?.lines.push(line);
  }
  return entries;
}
/** The value of a field, written `name value`, `name: value` or `name = "value"`. */
const field = (lines: readonly string[], name: string): string => {
  for (const line of lines) {
    const text = line.trim().replace(/^"/, "");
    if (!text.startsWith(name) || !/^["\s:=]/.test(text.slice(name.length, name.length + 1))) continue;
    return text.slice(name.length).replace(/^"/, "").trimStart().replace(/^[:=]/, "").trim().replace(/^"|"$/g, "");
  }
  return "";
};

/** `debug@npm:4.3.4` names a protocol, not a place. */
const sourceOf = (resolution: string): string => /^(?:"?@?[^@"]+@)(npm:|.*)/.exec(resolution)?.[1] ?? resolution;

function yarn(input: string): Locked | undefined {
  const packages = entriesOf(input, /^("?[^\s#].*):\s*$/).flatMap(({ key, lines }): LockedPackage[] => {
    if (key === "__metadata") return [];
    const name = /^"?(@?[^@"]+)@/.exec(key)?.[1] ?? key;
    const source = field(lines, "resolved") || field(lines, "resolution");
    return [{ name, version: field(lines, "version"), source: sourceOf(source), remarks: [] }];
  });
  return packages.every(({ version }) => version !== "")
    ? {
        format: "yarn lock file",
        head: [],
        packages,
        dropped: Math.max(1, lineCount(input) - packages.length),
        what: "addresses, checksums, version ranges",
      }
    : undefined;
}

function pnpm(input: string): Locked | undefined {
  const [, title = ""] = /^(packages:[ \t]*\r?)$/m.exec(input) ?? [];
  const from = title ? input.indexOf(`\n${title}\n`) : -1;
  if (from < 0) return undefined;
  const before = input.slice(0, from);
  const rest = input.slice(from + title.length + 2);
  // The section ends where a line begins in the first column again.
  const end = rest.search(/^[^\s]/m);
  const section = end < 0 ? rest : rest.slice(0, end);
  const packages = entriesOf(section.replace(/^ {2}/gm, ""), /^(['"]?\/?@?[^\s'"].*?['"]?):\s*(?:\{\})?\s*$/).flatMap(
    ({ key, lines }): LockedPackage[] => {
      const plain = key.replace(/^['"]?\/?|['"]$/g, "");
      const at = plain.indexOf("@", 1);
      if (at < 0) return [];
      const source =
        /tarball: ([^,}\s]+)/.exec(lines.join(" "))?.[1] ??
        /^(?:https?|git|file|link):.*/.exec(plain.slice(at + 1))?.[0];
      const remarks = [
        ...(source ? [`from ${source}`] : []),
        ...(field(lines, "deprecated") ? [`deprecated: ${field(lines, "deprecated").slice(0, 200)}`] : []),
        ...(field(lines, "requiresBuild") === "true" ? ["install script"] : []),
      ];
      return [{ name: plain.slice(0, at), version: plain.slice(at + 1), source, remarks }];
    },
  );
  const head = before.split("\n").filter((line) => line.trim() !== "");
  return {
    format: "pnpm lock file",
    head,
    packages,
    dropped: Math.max(1, lineCount(input) - head.length - packages.length),
    what: "checksums, engines, snapshots",
  };
}

/** Cargo, poetry and uv. */
function toml(input: string): Locked | undefined {
  const format = /^# .*poetry/im.test(input.slice(0, 400))
    ? "poetry lock file"
    : /^source = "registry\+/m.test(input)
      ? "Cargo lock file"
      : "TOML lock file";
  const packages: LockedPackage[] = [];
  const parts = input.split(/^\[\[package\]\]\s*$/m);
  for (const part of parts.slice(1)) {
    const lines = part.split(/^\[(?!\[)/m)[0]?.split("\n") ?? [];
    const source = field(lines, "source");
    const url = /^\[package\.source\]\s*\n(?:.*\n){0,8}?url = "([^"]+)"/m.exec(part)?.[1];
    const table = /(?:git|url|path|editable|virtual|directory) = "([^"]*)"/.exec(source)?.[0];
    packages.push({
      name: field(lines, "name"),
      version: field(lines, "version") || "local",
      source: url ?? table ?? source,
      remarks: [],
    });
  }
  const tail = /^\[metadata\]\s*\n(?:(?!\[).*\n?)*/m.exec(input)?.[0] ?? "";
  const head = tail.split("\n").filter((line) => /^(?:python-versions|lock-version)/.test(line));
  if (packages.some(({ name }) => name === "")) return undefined;
  return {
    format,
    head,
    packages,
    dropped: Math.max(1, lineCount(input) - packages.length - head.length),
    what: "checksums, sources, dependency lists",
  };
}

function goSum(input: string): Locked | undefined {
  const modules = new Map<string, Set<string>>();
  for (const line of input.split("\n")) {
    if (line.trim() === "") continue;
    const [, name = "", version = ""] = /^(\S+) (v\S+?)(?:\/go\.mod)? h1:\S+$/.exec(line) ?? [];
    if (!name) return undefined;
    const versions = modules.get(name) ?? new Set();
    modules.set(name, versions.add(version));
  }
  const packages = [...modules].map(([name, versions]) => ({ name, version: [...versions].join(","), remarks: [] }));
  return { format: "go.sum", head: [], packages, dropped: lineCount(input), what: "checksums" };
}
