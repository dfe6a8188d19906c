/** Lists of paths: what stands in one folder is written as the shell would expand it. No path is lost. */
import { isPath } from "./line-kinds.ts";

/** Names that stay as they are: inside braces they would be read otherwise. */
const PLAIN = /^[^\s{},'"\\$`*?[\]()&;|<>]+$/;
/** What the list must shrink to. */
const ENOUGH = 0.8;

export interface Braced {
  readonly text: string;
  /** Whether the paths stand in the order they came in. */
  readonly inOrder: boolean;
}

/** `src/{a.ts,b.ts}`; undefined when the lines are no such list, or when it gets no smaller. */
export function bracedPaths(lines: readonly string[]): Braced | undefined {
  if (!lines.every((line) => line === "" || isPath(line))) return undefined;
  const most = lines.reduce((sum, line) => sum + line.length + 1, 0) * ENOUGH;
  for (const inOrder of [true, false]) {
    const text = grouped(lines, inOrder);
    if (text.length < most) return { text, inOrder };
  }
  return undefined;
}

/** Groups neighbours of one folder, or all of one folder where its first stands. */
function grouped(lines: readonly string[], neighboursOnly: boolean): string {
  const groups: { readonly folder: string; readonly names: string[] }[] = [];
  const open = new Map<string, string[]>();
  for (const line of lines) {
    const cut = line.lastIndexOf("/", line.length - 2) + 1;
    const folder = line.slice(0, cut);
    const name = line.slice(cut);
    const names = cut > 0 && PLAIN.test(line) ? open.get(folder) : undefined;
    if (names) {
      names.push(name);
      continue;
    }
    const group = { folder, names: [name] };
    if (neighboursOnly) open.clear();
    if (cut > 0 && PLAIN.test(line)) open.set(folder, group.names);
    groups.push(group);
  }
  return groups
    .map(({ folder, names }) => (names.length > 1 ? `${folder}{${names.join(",")}}` : `${folder}${names[0]}`))
    .join("\n");
}
