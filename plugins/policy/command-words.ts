/**
 * The words of a shell command, read twice over. For a rule that allows, a command must be plain: simple commands of
 * fixed words joined by `;`, `&`, `|` and line ends, nothing that the shell expands, assigns or redirects. For a rule
 * that denies or asks, everything that might run counts: commands inside substitutions, behind keywords, assignments
 * and wrappers such as `sudo` or `sh -c`; what cannot be read counts as whatever the rule names.
 */

export interface SimpleCommand {
  readonly words: readonly string[];
  /** Nothing in it but words that stand for themselves. */
  readonly plain: boolean;
  /** Which program it runs cannot be told. */
  readonly unreadable: boolean;
  /** Positions where the shell, or the program itself, puts words that are not known here: any, and any number of them. */
  readonly open: ReadonlySet<number>;
}

const KEYWORDS = new Set(
  "if then else elif fi do done while until for select case esac in function { } ! time coproc [[ ]]".split(" "),
);
/** Programs that run what their arguments name. */
const WRAPPERS = new Set(
  "sudo doas su runuser env command builtin exec nohup nice ionice chrt taskset numactl prlimit setpriv runcon systemd-run timeout xargs parallel entr stdbuf setsid chroot unshare nsenter busybox toybox find fd watch strace ltrace time script flock ssh eval sh bash zsh dash ksh fish source .".split(
    " ",
  ),
);
/** Programs that add words from their input to the command they run. */
const APPENDERS = new Set(["xargs", "parallel", "entr"]);
/** Programs that read an argument as a script. */
const SHELLS = new Set(
  "eval env sh bash zsh dash ksh fish su ssh watch script parallel flock busybox trap alias".split(" "),
);
/** Programs that read their input as a script when they are given no other. */
const READERS = new Set("sh bash zsh dash ksh fish source .".split(" "));
const INPUT = /^(?:-|-[a-z]*s[a-z]*|\/dev\/(?:stdin|fd\/.*)|\/proc\/.*\/fd\/.*)$/;
const ASSIGNMENT = /^[A-Za-z_]\w*\+?=/;
const MAX_DEPTH = 12;
const MAX_SCRIPT = 262_144;

interface Word {
  text: string;
  /** Has parts that the shell replaces: `$x`, `$(…)`, backticks. */
  expands: boolean;
  /** Has unquoted `*`, `?`, `[`, `{`, `~`. */
  globs: boolean;
}

/** The simple commands of a script, those it may run indirectly included. */
export function commandsOf(script: string): SimpleCommand[] {
  const out: SimpleCommand[] = [];
  read(script, 0, out);
  return out;
}

/** A program and its arguments that no shell reads. */
export function commandOf(argv: readonly string[]): SimpleCommand[] {
  const out: SimpleCommand[] = [];
  finish(
    argv.map((text) => ({ text, expands: false, globs: false })),
    true,
    0,
    out,
  );
  return out;
}

/** Whether a command begins with these words, and, with `exact`, has no others. For rules that allow. */
export function begins({ words, plain }: SimpleCommand, prefix: readonly string[], exact: boolean): boolean {
  return plain && (exact ? words.length === prefix.length : true) && prefix.every((word, i) => words[i] === word);
}

/** Whether a command may run what these words name. Options may stand between them. For rules that deny or ask. */
export function mayRun(command: SimpleCommand, prefix: readonly string[], exact: boolean): boolean {
  const { words, unreadable } = command;
  if (unreadable) return true;
  const last = WRAPPERS.has(programOf(words[0] ?? "")) ? words.length - 1 : 0;
  for (let head = 0; head <= last; head++) if (runs(command, head, prefix, exact)) return true;
  return false;
}

function runs({ words, open }: SimpleCommand, head: number, prefix: readonly string[], exact: boolean): boolean {
  const [program = "", ...rest] = prefix;
  const word = words[head] ?? "";
  if ((program.includes("/") ? word : programOf(word)) !== program.toLowerCase() && word !== program) return false;
  if (exact && open.size === 0 && words.length - head !== prefix.length) return false;
  let at = head + 1;
  for (const wanted of rest) {
    while (!open.has(at) && words[at] !== wanted && words[at]?.startsWith("-"))
      at += !open.has(at + 1) && words[at + 1] !== wanted && words[at + 1]?.startsWith("-") === false ? 2 : 1;
    if (open.has(at)) return true;
    if (words[at++] !== wanted) return false;
  }
  return true;
}

/** The name a program is known by, without its folder. Some file systems do not tell upper from lower case. */
const programOf = (word: string): string => word.slice(word.lastIndexOf("/") + 1).toLowerCase();

/** A command without keywords and assignments in front, and whatever scripts its arguments are. */
function finish(words: Word[], plain: boolean, depth: number, out: SimpleCommand[]): void {
  let start = 0;
  for (let text = words[0]?.text; text !== undefined; text = words[start]?.text) {
    if (!KEYWORDS.has(text) && !ASSIGNMENT.test(text)) break;
    // The word after it is the function's name.
    start += text === "function" ? 2 : 1;
  }
  const own = words.slice(start);
  const [first] = own;
  if (!first) {
    // An assignment alone runs nothing, but it is not nothing either.
    if (words.length > 0)
      out.push({ words: words.map(({ text }) => text), plain: false, unreadable: false, open: none });
    return;
  }
  const program = programOf(first.text);
  const expands = own.some((word) => word.expands);
  const open = own.flatMap((word, index) => (word.expands || word.globs ? [index] : []));
  if (APPENDERS.has(program))
    open.push(own.length, ...own.keys().filter((index) => own[index]?.text.startsWith(":::")));
  out.push({
    words: own.map(({ text }) => text),
    plain: plain && start === 0 && !expands,
    unreadable:
      first.expands || first.globs || (expands && WRAPPERS.has(program)) || (READERS.has(program) && readsInput(own)),
    open: open.length > 0 ? new Set(open) : none,
  });
  if (!SHELLS.has(program)) return;
  for (const { text } of own.slice(1))
    for (const script of scriptsIn(text)) if (/\s|[;&|]/.test(script)) read(script, depth + 1, out);
}

/** Whether what a shell runs comes from its input. */
const readsInput = ([, ...words]: readonly Word[]): boolean =>
  words.every(({ text }) => text.startsWith("-")) || words.some(({ text }) => INPUT.test(text));

/** The scripts that an argument may be: as a whole, behind the letter of an option, behind its `=`. */
function scriptsIn(text: string): string[] {
  const value = text.indexOf("=") + 1;
  return [text, ...(/^-\w/.test(text) ? [text.slice(2)] : []), ...(value > 0 ? [text.slice(value)] : [])];
}

const none: ReadonlySet<number> = new Set();
const unreadable: SimpleCommand = { words: [], plain: false, unreadable: true, open: none };

/** Reads one script to its end, or to the `)` that closes a substitution; answers with where it stopped. */
function read(script: string, depth: number, out: SimpleCommand[], from = 0, closing = false): number {
  if (depth > MAX_DEPTH || script.length > MAX_SCRIPT) {
    out.push(unreadable);
    return script.length;
  }
  let words: Word[] = [];
  let word: Word | undefined;
  let plain = !closing;
  let target: ">" | "&" | undefined;
  let redirected = false;
  let parens = 0;
  let at = from;
  const open = (): Word => (word ??= { text: "", expands: false, globs: false });
  const endWord = (): void => {
    if (!word) return;
    if (target) {
      // Output to the void and copies of a descriptor change no file.
      if (target === "&" ? !/^(\d+|-)$/.test(word.text) : word.text !== "/dev/null") plain = false;
      if (word.expands) plain = false;
      target = undefined;
    } else words.push(word);
    word = undefined;
  };
  const endCommand = (): void => {
    endWord();
    if (target) plain = false;
    target = undefined;
    // A redirection without a command still makes or empties its file.
    if (words.length === 0 && redirected) out.push({ words: [], plain: false, unreadable: false, open: none });
    finish(words, plain, depth, out);
    words = [];
    redirected = false;
  };
  const broken = (): number => {
    out.push(unreadable);
    return script.length;
  };
  /** `$…` and backticks, at `at`; answers false when they do not end. */
  const expansion = (): boolean => {
    const next = script[at + 1];
    if (script[at] === "`") {
      const end = closingBacktick(script, at + 1);
      if (end < 0) return false;
      open().expands = true;
      read(script.slice(at + 1, end).replace(/\\([`\\$])/g, "$1"), depth + 1, out);
      at = end + 1;
    } else if (next === "(") {
      open().expands = true;
      at = read(script, depth + 1, out, at + 2, true);
      if (script[at] !== ")") return false;
      at++;
    } else if (next === "{") {
      const end = closingBrace(script, at + 2);
      if (end < 0) return false;
      open().expands = true;
      const inner = script.slice(at + 2, end);
      if (/[`$<>]/.test(inner)) read(inner.replace(/^[^`$<>]*/, ""), depth + 1, out);
      at = end + 1;
    } else if (next !== undefined && /[\w?!@*#$-]/.test(next)) {
      open().expands = true;
      at += 2;
    } else {
      open().text += "$";
      at++;
    }
    return true;
  };

  while (at < script.length) {
    const char = script[at] as string;
    const next = script[at + 1];
    if (char === " " || char === "\t") {
      endWord();
      at++;
    } else if (char === "&" && next === ">") {
      endWord();
      redirected = true;
      target = ">";
      at += script[at + 2] === ">" ? 3 : 2;
    } else if (char === "\n" || char === ";" || char === "&" || char === "|") {
      endCommand();
      at++;
    } else if (char === "(" || char === ")") {
      if (char === ")" && closing && parens === 0) break;
      parens += char === "(" ? 1 : -1;
      plain = false;
      endCommand();
      plain = false;
      at++;
    } else if (char === "'") {
      const end = script.indexOf("'", at + 1);
      if (end < 0) return broken();
      open().text += script.slice(at + 1, end);
      at = end + 1;
    } else if (char === '"') {
      open();
      for (at++; script[at] !== '"'; ) {
        const inner = script[at];
        if (inner === undefined) return broken();
        if (inner === "\\" && /[$`"\\\n]/.test(script[at + 1] ?? "")) {
          if (script[at + 1] !== "\n") open().text += script[at + 1];
          at += 2;
        } else if (inner === "$" || inner === "`") {
          if (!expansion()) return broken();
        } else {
          open().text += inner;
          at++;
        }
      }
      at++;
    } else if (char === "\\") {
      if (next === undefined) return broken();
      if (next !== "\n") open().text += next;
      at += 2;
    } else if (char === "$" && next === "'") {
      const end = closingQuote(script, at + 2);
      if (end < 0) return broken();
      open().expands = true;
      at = end + 1;
    } else if (char === "$" && next === '"') {
      open().expands = true;
      at++;
    } else if (char === "$" || char === "`") {
      if (!expansion()) return broken();
    } else if ((char === "<" || char === ">") && next === "(") {
      open().expands = true;
      at = read(script, depth + 1, out, at + 2, true);
      if (script[at] !== ")") return broken();
      at++;
    } else if (char === "<" || char === ">") {
      // Digits that touch the sign are a descriptor.
      if (word && /^\d+$/.test(word.text) && !word.expands) word = undefined;
      endWord();
      redirected = true;
      if (target || script.startsWith("<<", at) || next === "<" || (char === "<" && next === ">")) plain = false;
      at++;
      while (script[at] === "<" || script[at] === ">" || script[at] === "|") at++;
      target = script[at] === "&" ? "&" : ">";
      if (target === "&") at++;
    } else {
      if (char === "\r" || char === "\0" || (char === "#" && !word)) plain = false;
      const current = open();
      if ("*?[{~".includes(char)) current.globs = true;
      current.text += char;
      at++;
    }
  }
  endCommand();
  return at;
}

function closingBacktick(script: string, from: number): number {
  for (let at = from; at < script.length; at++) {
    if (script[at] === "\\") at++;
    else if (script[at] === "`") return at;
  }
  return -1;
}
const closingQuote = (script: string, from: number): number => {
  for (let at = from; at < script.length; at++) {
    if (script[at] === "\\") at++;
    else if (script[at] === "'") return at;
  }
  return -1;
};
function closingBrace(script: string, from: number): number {
  let open = 1;
  for (let at = from; at < script.length; at++) {
    if (script[at] === "\\") at++;
    else if (script[at] === "{") open++;
    else if (script[at] === "}" && --open === 0) return at;
  }
  return -1;
}
