/** What the tools do, in one piece: loaded with the first call of any of them. */
export { bash } from "./commands/bash.ts";
export { killCommand, readCommand, startCommand, writeCommand } from "./commands/session-calls.ts";
export { editFile, listFiles, readFile, writeFile } from "./files/file-calls.ts";
export { grep } from "./search/grep.ts";
export { Shell } from "./shell.ts";
