/** Lists of paths: what stands in one folder is written as the shell would expand it, and nothing is lost. */
import { isPath } from "./line-kinds.ts";

/** Names that stay as they are: inside braces they would be read otherwise. */
const PLAIN = /^[^\s{},'"\\$`*?[\]()&;|<>]+$/;

/** `src/{a.ts,b.ts}` for neighbouring lines of one folder; undefined when the list is no such list, or gets no smaller. */
export function bracedPaths(lines: readonly string[]): string | undefined {
  const out: string[] = [];
  let folder: string | undefined;
  let names: string[] = [];
  const flush = (): void => {
    if (folder !== undefined)
      out.push(names.length > 1 ? `${folder}{${names.join(",")}}` : `${folder}${names[0] ?? ""}`);
    folder = undefined;
    names = [];
  };
  for (const line of lines) {
    if (line !== "" && !isPath(line)) return undefined;
    const cut = line.lastIndexOf("/", line.length - 2) + 1;
    const [head, name] = [line.slice(0, cut), line.slice(cut)];
    if (cut === 0 || !PLAIN.test(line)) {
      flush();
      out.push(line);
      continue;
    }
    if (head !== folder) {
      flush();
      folder = head;
    }
    names.push(name);
  }
  flush();
  const text = out.join("\n");
  return text.length < lines.reduce((sum, line) => sum + line.length + 1, 0) * 0.8 ? text : undefined;
}
