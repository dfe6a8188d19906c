/** The frames of stack traces: what a frame is in each runtime, and whose code it runs. */

/** Lines of a text that make up one frame. */
export interface Frame {
  readonly from: number;
  readonly to: number;
  /** The frame without numbers and addresses, so that two rounds of a recursion are equal. */
  readonly shape: string;
  /** The library it belongs to; undefined for the program's own code. */
  readonly library: string | undefined;
}

const PYTHON = /^\s*File "([^"]{1,400})", line \d+(?:, in (.*))?$/;
const AT = /^\s+at\s+(?:async\s+|new\s+)?(\S.*)$/;
const GO_CALL = /^[\w./*()[\]…-]{1,300}\(.*\)$/;
const GO_PLACE = /^\t\S+:\d+/;
const RUST = /^\s*\d+:\s+(?:0x[0-9a-f]+ - )?(\S.*)$/;
const RUST_PLACE = /^\s+at \S+:\d+/;
const RUBY = /^\s*(?:from\s+|\d+: from )?(\S{1,300}):\d+:in [`'](.*)'/;

/** The frame that begins at a line. */
export function frameAt(lines: readonly string[], from: number): Frame | undefined {
  const line = lines[from] ?? "";
  if (line.length > 600) return undefined;
  const next = lines[from + 1] ?? "";
  const python = PYTHON.exec(line);
  if (python) {
    // The source line and the carets under it are indented deeper.
    let to = from + 1;
    const indent = /^\s*/.exec(line)?.[0].length ?? 0;
    while (to < lines.length && to <= from + 3 && deeper(lines[to] ?? "", indent) && !PYTHON.test(lines[to] ?? ""))
      to++;
    return frame(lines, from, to, pythonLibrary(python[1] ?? ""));
  }
  if (GO_CALL.test(line) && GO_PLACE.test(next)) return frame(lines, from, from + 2, goLibrary(line, next));
  if (/^created by /.test(line) && GO_PLACE.test(next)) return frame(lines, from, from + 2, undefined);
  const rust = RUST.exec(line);
  if (rust) return frame(lines, from, RUST_PLACE.test(next) ? from + 2 : from + 1, rustLibrary(rust[1] ?? "", next));
  const at = AT.exec(line);
  if (at) return frame(lines, from, from + 1, atLibrary(at[1] ?? ""));
  const ruby = RUBY.exec(line);
  return ruby ? frame(lines, from, from + 1, /\/gems\/([\w.-]+)-\d/.exec(ruby[1] ?? "")?.[1]) : undefined;
}

const deeper = (line: string, indent: number): boolean =>
  line.trim() !== "" && (/^\s*/.exec(line)?.[0].length ?? 0) > indent;

function frame(lines: readonly string[], from: number, to: number, library: string | undefined): Frame {
  return { from, to, library, shape: masked(lines.slice(from, to).join("\n")) };
}

/** A text without its numbers and addresses. */
export const masked = (text: string): string => text.replace(/0x[0-9a-f?]+/gi, "0x").replace(/\d+/g, "#");

function pythonLibrary(path: string): string | undefined {
  const site = /(?:site|dist)-packages\/([\w.-]+?)(?:\.py)?(?:\/|$)/.exec(path)?.[1];
  return site ?? (/\/lib\/python\d[\w.]*\/|^<frozen /.test(path) ? "python" : undefined);
}

function goLibrary(call: string, place: string): string | undefined {
  if (
    /\/(?:usr\/local|usr\/lib|opt\/hostedtoolcache)\/go[\w./-]*\/src\/|\/go\/src\/(?:runtime|net|internal)\//.test(
      place,
    )
  )
    return call.split(/[./(]/)[0];
  return /\/pkg\/mod\/([^@\s]+)@/.exec(place)?.[1] ?? /\/vendor\/([\w.-]+\/[\w.-]+)/.exec(place)?.[1];
}

function rustLibrary(name: string, place: string): string | undefined {
  const crate = /^<?(?:&?(?:mut )?)?(\w+)(?:::| as )/.exec(name)?.[1] ?? name;
  if (
    /\/rustc\/[0-9a-f]{8,}/.test(place) ||
    /^(?:core|std|alloc|rust_begin_unwind|rust_panic|__libc_start|_start|main|clone|start_thread)/.test(crate)
  )
    return "std";
  return /\.cargo\/registry\/src\/[^/]+\/([\w-]+?)-\d/.exec(place)?.[1];
}

/** `at` frames of Java, JavaScript and .NET. */
function atLibrary(text: string): string | undefined {
  if (/\bnode:internal\b|\bnode:|\binternal\/|<anonymous>\)?$/.test(text) && !/node_modules/.test(text))
    return /\(?native\)?$/.test(text) || /node:|internal\//.test(text) ? "node" : undefined;
  const modules = [...text.matchAll(/node_modules\/((?:@[\w.-]+\/)?[\w.-]+)/g)];
  if (modules.length > 0) return modules[modules.length - 1]?.[1];
  const java =
    /^(?:[\w.@-]+\/)*((?:java|javax|jdk|sun|com\.sun|jakarta|kotlin|kotlinx|scala|groovy|clojure)\.|(?:org|io|com)\.(?:springframework|apache|hibernate|eclipse|jboss|junit|mockito|netty|reactivex|projectreactor|undertow|micrometer|zaxxer|fasterxml|google|mysql|postgresql|h2|glassfish|slf4j|gradle|akka|vertx|quarkus|grpc)\b)/.exec(
      text,
    )?.[1];
  if (java) return java.replace(/\.$/, "");
  return /^(?:System|Microsoft)\.\w+/.exec(text)?.[0];
}
