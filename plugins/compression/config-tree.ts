/** Configuration as a tree of lines: what stands deeper belongs to what stands above it. YAML, TOML, INI and their like. */

export interface Block {
  /** Its first line. */
  readonly from: number;
  /** Past its last line, those of its children included. */
  to: number;
  readonly children: Block[];
}

const SECTION = /^\[{1,2}[^\]\n]{1,120}\]{1,2}\s*(?:[#;].*)?$/;

/** The blocks of the outermost level. Blank lines and comments belong to the block before them. */
export function blocksOf(lines: readonly string[]): Block[] {
  const sections = lines.some((line) => SECTION.test(line));
  const roots: Block[] = [];
  const open: { readonly block: Block; readonly level: number }[] = [];
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? "";
    const text = line.trimStart();
    if (text === "" || text.startsWith("#") || text.startsWith(";")) continue;
    const level = levelOf(line, text, sections);
    while (open.length > 0 && (open.at(-1)?.level ?? 0) >= level) close(open, i);
    const block: Block = { from: i, to: lines.length, children: [] };
    const parent = open.at(-1)?.block;
    (parent ? parent.children : roots).push(block);
    // Deeper than any configuration is: such lines are siblings.
    if (open.length < 64) open.push({ block, level });
    else block.to = i + 1;
  }
  while (open.length > 0) close(open, lines.length);
  return roots;
}

function close(open: { readonly block: Block }[], at: number): void {
  const last = open.pop();
  if (last) last.block.to = at;
}

/** An item of a list may stand in the same column as its key, and still belongs to it. */
function levelOf(line: string, text: string, sections: boolean): number {
  if (sections && SECTION.test(line)) return 0;
  const item = text.startsWith("- ") || text === "-";
  return 2 * (line.length - text.length) + (item ? 1 : 0) + (sections ? 2 : 0);
}

const PAIR =
  /^((?:- +)*)(?:"([^"\n]{1,120})"|'([^'\n]{1,120})'|([\w.@/$*+-][\w.@/$*+ -]{0,119}?))\s*(?::(?=\s|$)|=(?!=))\s*(.*)$/;

/** The key and the value of a line. */
export function pairOf(line: string): { readonly key: string; readonly value: string } | undefined {
  const found = PAIR.exec(line.trim());
  if (!found) return undefined;
  return { key: found[2] ?? found[3] ?? found[4] ?? "", value: (found[5] ?? "").replace(/\s+#.*$/, "").trim() };
}

/** The fields of a block, by the path of their keys. */
export function fieldsOf(lines: readonly string[], block: Block): Map<string, string> {
  const fields = new Map<string, string>();
  const header = SECTION.exec(lines[block.from] ?? "");
  const put = (name: string, value: string): void => {
    const before = fields.get(name);
    fields.set(name, before === undefined ? value : `${before} ${value}`);
  };
  const read = (at: Block, path: string, depth: number): void => {
    const pair = pairOf(lines[at.from] ?? "");
    const name = pair ? (path ? `${path}.${pair.key}` : pair.key) : path || "value";
    const value = pair ? pair.value : (lines[at.from] ?? "").trim().replace(/^- +/, "");
    if (value !== "") put(name, value);
    for (const child of at.children) read(child, depth < 3 ? name : path, depth + 1);
  };
  const first = pairOf(lines[block.from] ?? "");
  if (header || (first && first.value === "" && !/^\s*-/.test(lines[block.from] ?? ""))) {
    fields.set("key", header ? header[0] : (first?.key ?? ""));
    for (const child of block.children) read(child, "", 1);
  } else {
    read({ ...block, children: [] }, "", 0);
    for (const child of block.children) read(child, "", 1);
  }
  return fields;
}
