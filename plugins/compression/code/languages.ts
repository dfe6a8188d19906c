/**
 * The languages whose code can be shortened: the grammar that reads each, and what of it counts as a body.
 *
 * `@body` is the body of a declaration. `@callback` is one of a function passed as an argument or called on the spot:
 * when it holds further bodies, as `describe(() => { it(() => …) })` does, those are shortened and it stays.
 */
export interface LanguageSpec {
  /** npm package that carries the grammar, and the name of its file. */
  readonly from: string;
  readonly file: string;
  /** Tree-sitter query that finds the bodies. */
  readonly bodies: string;
  /** How an elided body reads: between braces, or an indented block. */
  readonly block: "braces" | "indent";
}

const CLOSURES = `
(function_declaration body: (statement_block) @body)
(generator_function_declaration body: (statement_block) @body)
(method_definition body: (statement_block) @body)
(function_expression body: (statement_block) @body)
(arrow_function body: (statement_block) @body)
(arguments (arrow_function body: (statement_block) @callback))
(arguments (function_expression body: (statement_block) @callback))
(parenthesized_expression (function_expression body: (statement_block) @callback))
(parenthesized_expression (arrow_function body: (statement_block) @callback))`;
const NATIVE = `
(function_definition body: (compound_statement) @body)`;

export const languages = {
  typescript: {
    from: "tree-sitter-typescript",
    file: "tree-sitter-typescript.wasm",
    block: "braces",
    bodies: CLOSURES,
  },
  tsx: { from: "tree-sitter-typescript", file: "tree-sitter-tsx.wasm", block: "braces", bodies: CLOSURES },
  javascript: {
    from: "tree-sitter-javascript",
    file: "tree-sitter-javascript.wasm",
    block: "braces",
    bodies: CLOSURES,
  },
  python: {
    from: "tree-sitter-python",
    file: "tree-sitter-python.wasm",
    block: "indent",
    bodies: "(function_definition body: (block) @body)",
  },
  go: {
    from: "tree-sitter-go",
    file: "tree-sitter-go.wasm",
    block: "braces",
    bodies: `
(function_declaration body: (block) @body)
(method_declaration body: (block) @body)
(func_literal body: (block) @body)
(argument_list (func_literal body: (block) @callback))`,
  },
  rust: {
    from: "tree-sitter-rust",
    file: "tree-sitter-rust.wasm",
    block: "braces",
    bodies: "(function_item body: (block) @body)",
  },
  java: {
    from: "tree-sitter-java",
    file: "tree-sitter-java.wasm",
    block: "braces",
    bodies: `
(method_declaration body: (block) @body)
(constructor_declaration body: (constructor_body) @body)
(compact_constructor_declaration body: (block) @body)
(static_initializer (block) @body)`,
  },
  c: { from: "tree-sitter-c", file: "tree-sitter-c.wasm", block: "braces", bodies: NATIVE },
  cpp: { from: "tree-sitter-cpp", file: "tree-sitter-cpp.wasm", block: "braces", bodies: NATIVE },
} as const satisfies Record<string, LanguageSpec>;

export type LanguageName = keyof typeof languages;

/** The bytes of a source that its language is guessed from. */
const GUESSED_FROM = 32_768;

/** What betrays a language, with its weight; each pattern counts at most eight times. */
const TELLS: readonly (readonly [LanguageName, number, RegExp])[] = [
  ["python", 3, /^[ \t]*(?:async\s+)?def\s+\w+\s*\(.*(?::\s*$|->|$)/gm],
  ["python", 3, /^[ \t]*class\s+\w+(?:\([^)]*\))?:\s*$/gm],
  ["python", 2, /^(?:from\s+[\w.]+\s+import\s|import\s+[\w.]+(?:\s+as\s+\w+)?\s*$)/gm],
  ["python", 2, /^[ \t]*(?:elif\s.*:|except\b.*:|if\s+__name__\s*==|self\.\w+\s*=)/gm],
  ["go", 6, /^package\s+\w+\s*$/gm],
  ["go", 3, /^func\s+(?:\(\w+\s+\*?[\w.[\]]+\)\s*)?\w+(?:\[[^\]]*\])?\(/gm],
  ["go", 2, /:=\s|^import\s+\(\s*$|\bif\s+err\s*!=\s*nil\b|^type\s+\w+\s+(?:struct|interface)\s*\{/gm],
  ["rust", 3, /^[ \t]*(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?fn\s+\w+/gm],
  ["rust", 3, /^[ \t]*(?:impl\b[^;]*\{|(?:pub\s+)?(?:mod|trait)\s+\w+|use\s+[\w:]+::)|^[ \t]*#!?\[\w+/gm],
  ["rust", 2, /\blet\s+mut\s|->\s*Result<|\bmatch\s+[\w.&()]+\s*\{|&mut\s/gm],
  ["java", 6, /^[ \t]*package\s+[\w.]+;\s*$/gm],
  ["java", 3, /^[ \t]*import\s+(?:static\s+)?[\w.]+(?:\.\*)?;\s*$/gm],
  [
    "java",
    2,
    /^[ \t]*(?:public|private|protected)\s+(?:(?:static|final|abstract|synchronized)\s+)*(?:<[^>]+>\s+)?[\w<>[\],.? ]{1,120}\s\w+\s*\(/gm,
  ],
  ["java", 2, /^[ \t]*@(?:Override|Autowired|Test|Service|Inject)\b|\bnew\s+\w+<>?\(|\bthrows\s+\w+/gm],
  ["c", 3, /^[ \t]*#\s*include\s*[<"][\w/.]+\.h[>"]/gm],
  [
    "c",
    2,
    /^[ \t]*#\s*(?:define|ifdef|ifndef|endif)\b|\bstruct\s+\w+\s*\*|->\w+\s*=|\b(?:malloc|sizeof|printf|NULL)\b/gm,
  ],
  [
    "c",
    2,
    /^(?:static\s+|inline\s+|const\s+|unsigned\s+)*(?:int|void|char|size_t|struct\s+\w+|\w+_t|bool|long|double)\s+\*?\w+\s*\(/gm,
  ],
  ["cpp", 4, /^[ \t]*#\s*include\s*<\w+>\s*$/gm],
  [
    "cpp",
    4,
    /\bstd::|^[ \t]*namespace\s+[\w:]*\s*\{|^[ \t]*template\s*<|\b\w+::~?\w+\s*\(|^[ \t]*(?:public|private|protected):\s*$/gm,
  ],
  ["cpp", 2, /\b(?:nullptr|constexpr|noexcept|override|auto\s*&|const\s+auto)\b/gm],
  [
    "javascript",
    2,
    /^[ \t]*(?:export\s+)?(?:default\s+)?(?:async\s+)?function\s*\*?\s*\w*\s*\(|=>\s*[{(]|^[ \t]*(?:const|let|var)\s+[\w{[]/gm,
  ],
  [
    "javascript",
    3,
    /\brequire\(["'`]|^[ \t]*module\.exports\b|^[ \t]*import\s+.*\sfrom\s+["']|^[ \t]*export\s+(?:const|default|\{)/gm,
  ],
  ["typescript", 3, /^[ \t]*(?:export\s+)?(?:declare\s+)?(?:interface|type|enum|namespace|abstract\s+class)\s+\w+/gm],
  [
    "typescript",
    3,
    /[\w)\]]\??:\s*(?:string|number|boolean|unknown|void|readonly|Promise<|Record<|\w+\[\])|\bas\s+const\b|^[ \t]*import\s+type\s/gm,
  ],
  ["typescript", 2, /^[ \t]*(?:public|private|protected|readonly)\s+(?:readonly\s+)?\w+\s*[:(?=]/gm],
];
const JSX = /<\/[A-Za-z][\w.]*>|<[A-Z]\w*(?:\s[^<>]*)?\/>|return\s*\(\s*<\w/;

/** The languages a source may be in, the likeliest first; empty when nothing speaks for any. */
export function guessLanguages(source: string): LanguageName[] {
  const head = source.slice(0, GUESSED_FROM);
  const score = new Map<LanguageName, number>();
  for (const [name, weight, pattern] of TELLS) {
    let seen = 0;
    pattern.lastIndex = 0;
    while (seen < 8 && pattern.test(head)) seen++;
    if (seen > 0) score.set(name, (score.get(name) ?? 0) + weight * seen);
  }
  // What is TypeScript is JavaScript too, and what is C++ is C.
  const typed = score.get("typescript");
  const script = score.get("javascript") ?? 0;
  if (typed) {
    score.delete("typescript");
    score.set(JSX.test(head) ? "tsx" : "typescript", typed + script + 1);
  }
  const plus = score.get("cpp");
  if (plus) score.set("cpp", plus + (score.get("c") ?? 0) + 1);
  return [...score]
    .filter(([, points]) => points >= 4)
    .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    .map(([name]) => name);
}
