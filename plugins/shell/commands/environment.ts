/**
 * The environment of a command: an allow-list, so that no credential of this process reaches a command that a model
 * wrote. It is a credential boundary and no sandbox: what a command can read from disk, it can read.
 */

/** Names that are passed on when they are set. */
export const PASSED_NAMES: readonly string[] = Object.freeze([
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "LANG",
  "LANGUAGE",
  "LC_ALL",
  "LC_CTYPE",
  "TZ",
  "TMPDIR",
  "TMP",
  "TEMP",
  "JAVA_HOME",
  "GOPATH",
  "GOROOT",
  "CARGO_HOME",
  "RUSTUP_HOME",
  "VIRTUAL_ENV",
  "NVM_DIR",
]);
/** Without these no program starts on Windows. */
const WINDOWS_NAMES = [
  "SystemRoot",
  "ComSpec",
  "PATHEXT",
  "USERPROFILE",
  "APPDATA",
  "LOCALAPPDATA",
  "ProgramData",
  "ProgramFiles",
];

/** No pager, no prompt and no colour: nobody sits at this terminal. */
const FIXED: Readonly<Record<string, string>> = {
  TERM: "dumb",
  NO_COLOR: "1",
  PAGER: "cat",
  GIT_PAGER: "cat",
  GIT_TERMINAL_PROMPT: "0",
};

/** The allow-listed part of `from`, what is fixed, and what the host adds. */
export function environment(
  added: Readonly<Record<string, string>> = {},
  from: NodeJS.ProcessEnv = process.env,
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const name of process.platform === "win32" ? [...PASSED_NAMES, ...WINDOWS_NAMES] : PASSED_NAMES) {
    const value = from[name];
    if (value !== undefined) env[name] = value;
  }
  return { ...env, ...FIXED, ...added };
}
