/** Configuration as a tree of lines: what stands deeper belongs to what stands above it. YAML, TOML, INI and their like. */

export interface Block {
  /** Its first line. */
  readonly from: number;
  /** Past its last line, those of its children included. */
  to: number;
  readonly children: Block[];
  /** Several blocks that make one record: a document of several, or a paragraph that begins like the others. */
  readonly record?: boolean;
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

/** Neighbouring blocks that begin with the same key again and again, as records. */
export function recordsIn(lines: readonly string[], roots: readonly Block[], least: number): Block[] | undefined {
  const first = roots.map((block) => pairOf(lines[block.from] ?? "")?.key);
  const key = first.find((name) => name !== undefined);
  const starts = first.flatMap((name, index) => (name === key ? [index] : []));
  if (key === undefined || starts.length < least || starts.length * 2 > roots.length) return undefined;
  const records = starts.map((start, index): Block => {
    const children = roots.slice(start, starts[index + 1] ?? roots.length);
    return { from: children[0]?.from ?? 0, to: children.at(-1)?.to ?? 0, children, record: true };
  });
  return [...roots.slice(0, starts[0]), ...records];
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

const bare = (text: string): string => text.replace(/^(["'])(.*)\1$/, "$2");
/** A map on one line. */
const FLOW = /^\s*-\s+\{(.*)\}\s*,?\s*$/;
const FLOW_PAIR = /("[^"]*"|'[^']*'|[\w.-]+)\s*:\s*("[^"]*"|'[^']*'|\{[^{}]*\}|\[[^[\]]*\]|[^,{}[\]]+)/g;

/** The fields of a block, by the path of their keys. */
export function fieldsOf(lines: readonly string[], block: Block): Map<string, string> {
  const fields = new Map<string, string>();
  const header = SECTION.exec(lines[block.from] ?? "");
  const put = (name: string, value: string): void => {
    const before = fields.get(name);
    fields.set(name, before === undefined ? value : `${before} ${value}`);
  };
  const read = (at: Block, path: string, depth: number): void => {
    const flow = FLOW.exec(lines[at.from] ?? "");
    if (flow) {
      for (const [, name = "", value = ""] of (flow[1] ?? "").matchAll(FLOW_PAIR)) put(bare(name), bare(value.trim()));
      return;
    }
    const pair = pairOf(lines[at.from] ?? "");
    const name = pair ? (path ? `${path}.${pair.key}` : pair.key) : path || "value";
    const value = pair ? pair.value : (lines[at.from] ?? "").trim().replace(/^- +/, "");
    if (value !== "") put(name, value);
    for (const child of at.children) read(child, depth < 3 ? name : path, depth + 1);
  };
  const first = block.record ? undefined : pairOf(lines[block.from] ?? "");
  if (block.record) {
    for (const child of block.children) read(child, "", 0);
  } else if (header || (first && first.value === "" && !/^\s*-/.test(lines[block.from] ?? ""))) {
    fields.set("key", header ? header[0] : (first?.key ?? ""));
    for (const child of block.children) read(child, "", 1);
  } else {
    read({ ...block, children: [] }, "", 0);
    for (const child of block.children) read(child, "", 1);
  }
  return fields;
}
