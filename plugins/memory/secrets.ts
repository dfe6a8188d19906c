/**
 * What must not be remembered: credentials, by the shapes their makers give them, by the words around them, and by
 * looking like chance. Names the kind it found, never the text.
 */

const SHAPES: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ["private key", /-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----/],
  ["AWS access key", /\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b/],
  ["GitHub token", /\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})/],
  ["GitLab token", /\bgl(?:pat|dt|ptt|rt|cbt)-[A-Za-z0-9_-]{16,}/],
  ["provider API key", /\bsk-(?:ant-|proj-|svcacct-|or-v1-|lf-)?[A-Za-z0-9_-]{20,}/],
  ["Google API key", /\bAIza[0-9A-Za-z_-]{30,}/],
  ["Google OAuth secret", /\bGOCSPX-[A-Za-z0-9_-]{20,}|\bya29\.[A-Za-z0-9_-]{20,}/],
  ["Slack token", /\bxox[abeoprs]-[A-Za-z0-9-]{10,}|hooks\.slack\.com\/services\/[A-Z0-9]+\/[A-Z0-9]+\/[A-Za-z0-9]+/],
  ["Stripe key", /\b(?:sk|rk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,}/],
  ["package registry token", /\b(?:npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,})|_authToken\s*=\s*\S{8,}/],
  ["Hugging Face token", /\bhf_[A-Za-z0-9]{30,}/],
  ["SendGrid key", /\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}/],
  ["bot token", /\b\d{8,10}:AA[A-Za-z0-9_-]{30,}/],
  ["signed token", /\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/],
  ["password in an address", /\b[a-z][a-z0-9+.-]*:\/\/[^\s/:@]*:(?!\*+@|<|\$|\{|%)[^\s/@]{3,}@/i],
  ["authorization header", /\b(?:bearer|basic)\s+(?=[A-Za-z0-9._~+/-]*\d)[A-Za-z0-9._~+/-]{16,}=*/i],
];

/** `name = value` where the name says that the value is secret. */
const ASSIGNMENT =
  /(?:^|[^A-Za-z])(?:[A-Za-z0-9]+[_-])*(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|access[_-]?key|auth[_-]?key|private[_-]?key|client[_-]?secret|credentials?|пароль|contraseña|passwort|mot de passe|密码|口令|パスワード|비밀번호|รหัสผ่าน)["'`]?\s*(?:[:=]|:=|=>|：)\s*["'`]?([^\s"'`,;]+)/giu;
/** Values that stand for one instead of being one. */
const PLACEHOLDER =
  /^(?:[<$%{[(*]|x{3,}$|\.{3}|…|_+$|process\.env|env[.:]|os\.environ|vault|op:\/\/|arn:|secret(?:s|ref)?\b|none$|null$|true$|false$|undefined$|required$|optional$|string$|stored|kept|see$|in$|is$|the$|a$|not$|example|changeme|redacted|https?:\/\/)/i;

/** The kind of secret a text holds, or undefined. */
export function secretIn(text: string): string | undefined {
  for (const [kind, pattern] of SHAPES) if (pattern.test(text)) return kind;
  for (const [, value = ""] of text.matchAll(ASSIGNMENT)) if (assigned(value)) return "credential assignment";
  for (const [run] of text.matchAll(/[A-Za-z0-9+=]{24,}/g)) if (random(run)) return "random key";
  return undefined;
}

/** A value is a secret when it is no word of a sentence: it has a digit or a sign in it, or is long. */
const assigned = (value: string): boolean =>
  value.length >= 6 && !PLACEHOLDER.test(value) && (/\d|[^\p{L}\p{M}.:!?)\]}]/u.test(value) || value.length >= 20);

/** Most neighbours of random text are of different kinds; in names and words most are of the same. */
const MOST_ORDER = 0.45;

function random(run: string): boolean {
  if (!(/[a-z]/.test(run) && /[A-Z]/.test(run) && /\d/.test(run))) return false;
  let changes = 0;
  for (let at = 1; at < run.length; at++) if (kindOf(run.charCodeAt(at)) !== kindOf(run.charCodeAt(at - 1))) changes++;
  return changes / (run.length - 1) >= MOST_ORDER && new Set(run).size >= 12;
}
const kindOf = (unit: number): number => (unit >= 97 ? 0 : unit >= 65 ? 1 : unit >= 48 && unit <= 57 ? 2 : 3);
