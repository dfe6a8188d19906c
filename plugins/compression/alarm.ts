/** Words that say that something went wrong: what carries one is never left out. */

const WORDS =
  "error|errors|err|errno|fail|fails|failed|failing|failure|failures|fatal|panic|panicked|exception|exceptions|critical|crit|emerg|emergency|alert|severe|warn|warning|warnings|denied|refused|rejected|timeout|timed out|unauthorized|forbidden|unreachable|unavailable|deadlock|corrupt|corrupted|crash|crashed|abort|aborted|segfault|oom|killed|traceback|undefined reference|cannot|could not|unable|invalid|missing|not found|conflict|violation|leak|expired";

/** The status of an answer that a server could not give: `HTTP/1.1" 503`, `status=500`. */
const SERVER_FAULT = '(?:HTTP/[\\d.]+"|status(?:[_ -]?code)?["\']?[ :=]{1,3})[ :]?5\\d\\d(?![\\d.])';

/** An alarming word as a word of its own, or the end of a name such as `TypeError` or `IOException`. */
const ALARM = new RegExp(
  `(?<![\\p{L}\\d_])(?:${WORDS})(?![\\p{L}\\d_])|[a-z](?:Error|Exception|Failure)(?![\\p{L}\\d_])|${SERVER_FAULT}`,
  "iu",
);
/** Cheap and too wide: most units are dismissed by it. */
const ROUGH =
  /err|fail|fatal|panic|exception|crit|emerg|alert|severe|warn|denied|refused|reject|time(?:d )?out|unauth|forbid|unreach|unavail|deadlock|corrupt|crash|abort|segf|oom|kill|traceback|undefined ref|cannot|could not|unable|invalid|missing|not found|conflict|violat|leak|expired|" 5\d\d |status.{1,8}5\d\d/i;
/** Counts of nothing: `0 errors`, `failed: 0`, `errors=0`, `"error": null`. */
const NOTHING =
  /(?<![\d.])0 (?:errors?|failures?|failed|warnings?|exceptions?)|(?:errors?|failures?|failed|warnings?|err)["']?\s*[:=]\s*(?:0(?![\d.])|null|none|false|"")/giu;

/** Whether a text says that something went wrong. */
export function isAlarming(text: string): boolean {
  if (!ROUGH.test(text) || !ALARM.test(text)) return false;
  const rest = text.replace(NOTHING, "");
  return rest.length === text.length || ALARM.test(rest);
}

/** Alarming units of one template that stay; from then on they are one message again and again, and are counted. */
const MAX_ALIKE = 64;

/** Counts alarming units by their template. */
export class Alarms {
  readonly #seen = new Map<number, number>();

  /** Whether one more unit of this template stays. */
  take(template: number): boolean {
    const seen = (this.#seen.get(template) ?? 0) + 1;
    this.#seen.set(template, seen);
    return seen <= MAX_ALIKE;
  }
}
