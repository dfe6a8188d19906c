/** What single lines look like. Each pattern is anchored or bounded, so that no line costs more than its length. */

/** A date or time at the beginning, a level in the first columns, or a syslog or access-log line. */
const LOG_TIME =
  /^[\s[("']{0,4}(?:\d{4}[-/.]\d\d[-/.]\d\d[T ,_]|\d{4}[-/]\d\d[-/]\d\d\s|\d\d[-/]\d\d[-/]\d{2,4}[ T,]|\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b|\d{1,2}[/-](?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[/-]\d{4}|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? |(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\s+\d{1,2}\s\d\d:|\d{10}(?:\d{3})?(?:\.\d+)?[\s\]]|[IWEF]\d{4}\s\d\d:|\+?\d+(?:\.\d+)?(?:ms|s)?\]?\s+\[)/;
const LOG_LEVEL =
  /^.{0,64}?(?:\b(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE|FINE|CONFIG|PANIC)\b|\[(?:trace|debug|info|notice|warn|warning|error|fatal|crit|emerg)\]|\blevel=["']?[a-zA-Z]+|\b(?:ts|time|timestamp)=)/;
const ACCESS = /^\S{1,64} \S{1,64} \S{1,64} \[\d\d\/[A-Z][a-z][a-z]\/\d{4}:/;
/** `web-1  | ` of composed services. */
const SERVICE = /^[\w.-]{1,64} *\| /;
export const isLogLine = (line: string): boolean =>
  LOG_TIME.test(line) ||
  LOG_LEVEL.test(line) ||
  ACCESS.test(line) ||
  (SERVICE.test(line) && isLogLine(line.slice(line.indexOf("| ") + 2)));

/** `path:12:text`, `path:12:5: text`, `path-12-text` of a context line. */
const SEARCH = /^(?:\.{0,2}\/)?[^\s:'"(){}<>=,;|*]{1,200}(?::\d{1,7}(?::\d{1,6})?:|-\d{1,7}-)/;
const SEARCH_PATH = /^(?:(?:\.{0,2}\/|[A-Za-z]:[\\/])?(?:[\w.@+~-]+[\\/])+[\w.@+~-]+|[\w@+~-]+(?:\.[\w-]+)+):(?!\/\/)/;
const TIME_LIKE = /^\d{1,4}(?:[:T-]|$)/;
export const isSearchLine = (line: string): boolean =>
  !TIME_LIKE.test(line) &&
  (SEARCH.test(line) ? /[./\\]|^[A-Z]\w+file[:-]/.test(line.slice(0, line.search(/[:-]\d/))) : SEARCH_PATH.test(line));

/** A frame of a stack trace, of any common runtime. */
const FRAME =
  /^\s+at\s+\S|^\s*File "[^"]{1,300}", line \d+|^\s*(?:from\s+)?\S{1,300}:\d+:in [`']|^\s*#\d{1,4}\s+(?:0x[0-9a-f]+|\S+\(|\/|\{main\})|^\s*\d{1,4}: +(?:0x[0-9a-f]+ - )?(?:<?[\w$]+(?:::|>)|[\w.]+::)|^\t\/\S+\.go:\d+|^goroutine \d+ \[|^[\w./*()-]{1,200}\([^)]*\)$|^\s*\.\.\. \d+ (?:more|common frames)|^Caused by: |^\s+(?:\S+ )?in \S+ at \S+:\d+/;
const FRAME_START =
  /^Traceback \(most recent call last\):|^(?:Exception in thread |Unhandled |Uncaught |Fatal error: |panic: |thread '[^']{0,200}' panicked|stack backtrace:|goroutine \d+ \[)|^(?:[\w$]+\.)*[A-Z][\w$]*(?:Error|Exception|Failure|Panic)\b/;
export const isFrame = (line: string): boolean => FRAME.test(line);
export const isFrameStart = (line: string): boolean => FRAME_START.test(line);

/** Lines that only test runners write. */
const TEST =
  /^\s*(?:PASS|FAIL|ok|FAILED|PASSED|RUNS)\s+\S+\.|^\s*(?:✓|✔|√|✗|✘|✕|×|○|∙)\s|^\s*(?:=== (?:RUN|PAUSE|CONT|NAME)|--- (?:PASS|FAIL|SKIP):|test \S{1,200} \.\.\. (?:ok|FAILED|ignored)|\S{1,200}::\S{1,200} (?:PASSED|FAILED|SKIPPED|ERROR|XFAIL|XPASS)|(?:not )?ok \d+(?: |$)|\[\s*(?:RUN|OK|FAILED|PASSED|----------|==========)\s*\]|Tests?(?: Suites| Files)?:?\s+\d+ |test result: |Tests run: \d+|\d+ (?:passing|failing|pending)\b|={3,} .{1,200} ={3,}$|ok\s+\S+\s+\d+(?:\.\d+)?s|PASS$|FAIL$|\[(?:INFO|ERROR)\] (?:Tests run:|Running )|\S+\.(?:py|rb|exs?) [.FEsxX]{2,}|# (?:tests|pass|fail|Subtest:)|Ran \d+ tests? in |test_\S+ \(\S+\) \.\.\. (?:ok|FAIL|ERROR|skipped))/;
export const isTestLine = (line: string): boolean => TEST.test(line);

/** `key: value`, `key = value`, `[section]`, a list item of YAML, a comment, an export. */
const CONFIG =
  /^\s*(?:-\s+)?(?:["']?[\w.@/$*-]{1,80}["']?\s*(?::(?:\s|$)|=(?!=))|\[{1,2}[^\]\n]{1,120}\]{1,2}\s*(?:[#;].*)?$|#|;|---\s*$|export \w+=)|^\s*-\s+\S/;
export const isConfigLine = (line: string): boolean => CONFIG.test(line);
/** A key with a value: what prose and lists do not have. */
const SETTING =
  /^\s*(?:-\s+)?(?:["']?[\w.@/$*-]{1,80}["']?\s*(?::(?:\s|$)|=(?!=)\s*\S)|\[{1,2}[\w.\-"': ]{1,120}\]{1,2}\s*$)/;
const FLOW_ITEM = /^\s*-\s+[{[].*[}\]],?\s*$/;
export const isSetting = (line: string): boolean => SETTING.test(line) || FLOW_ITEM.test(line);
/** A value that goes on like a sentence. */
export const isSpeech = (line: string): boolean => /^\s*[\w ]{1,40}:\s+(?:[\p{L}',;-]+ ){7}/u.test(line);

/** A keyword at the beginning of a statement or declaration. */
const KEYWORD =
  /^\s*(?:(?:export|public|private|protected|static|final|abstract|async|pub(?:\([a-z]+\))?|default|inline|extern|unsafe|override|virtual|constexpr)\s+)*(?:import\s+(?:[\w{*"'(]|type )|from\s+[\w.]+\s+import\b|(?:function|class|interface|struct|enum|impl|trait|fn|func|def|namespace|module|package|mod)\s*[*]?\s*[\w(<]|(?:const|let|var|val)\s+[\w{[(]|return\b[^.]*[;)}\]\w"'`]?$|(?:if|for|while|switch|match|else if|elif|catch)\s*[(\w].*[{:(]\s*$|type\s+\w+(?:<.*>)?\s*(?:=|struct|interface)|use\s+[\w:]+(?:::|;)|#include\s*[<"]|#(?:define|ifdef|ifndef|pragma)\b|using\s+\w|template\s*<|@\w+(?:\(.*\))?\s*$|(?:void|int|char|bool|float|double|long|auto|size_t|unsigned|String|boolean)\s+[*&]?\w+\s*[(=;[])/;
export const isKeyword = (line: string): boolean => KEYWORD.test(line);
/** A declaration of Python, whose lines have hardly any punctuation at their ends. */
const PYTHON =
  /^\s*(?:async\s+)?def \w+\(.{0,300}$|^\s*class \w+(?:\([^)]{0,200}\))?:\s*$|^\s*from [\w.]+ import [\w(*]|^\s*import [\w.]+(?:\s+as\s+\w+)?\s*$/;
export const isPython = (line: string): boolean => PYTHON.test(line);
export const isIndented = (line: string): boolean => /^(?: {2,}|\t)\S/.test(line);
/** The punctuation of code at the end of a line. */
const STRUCTURE =
  /[{};]\s*(?:\/\/.*)?$|\)\s*(?:=>\s*)?\{?\s*$|^\s*[)}\]]+[;,)]*\s*$|^\s*(?:def|class|if|for|while|elif|else|try|except|with)\b.*:\s*$/;
export const isStructure = (line: string): boolean => STRUCTURE.test(line);

/** Markup that only Markdown has. */
const MARKDOWN =
  /^\s*(?:```|~~~)|^\s*\[!\w+\]|^\s{0,12}(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s|\*\*|`|\[)|^>\s|\[[^\]\n]{1,200}\]\([^)\n]{1,400}\)|^\s*\|.*\|\s*$|^(?:={3,}|-{3,})\s*$|\*\*[^*\n]{1,200}\*\*|(?<!`)`[^`\n]{1,120}`(?!`)/;
export const isMarkdownLine = (line: string): boolean => MARKDOWN.test(line);
export const isHeading = (line: string): boolean => /^#{1,6} \S/.test(line);
export const isListItem = (line: string): boolean => /^\s{0,12}(?:[-*+]|\d{1,3}[.)])\s+\S/.test(line);

export const isDiffLine = (line: string): boolean =>
  /^(?:[+-]|@@ |diff --git |index [0-9a-f]{6,}|(?:new|deleted) file mode|rename |similarity )/.test(line);

/** A path and nothing else, as `find` and `grep -l` print them. */
export const isPath = (line: string): boolean =>
  /^(?!.* {2})(?:\.{0,2}\/|[A-Za-z]:\\)?(?:[\w.@+~ -]+[\\/])+[\w.@+~-]*$/.test(line);
