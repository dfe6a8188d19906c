/** A prompt from a pipe. */
import { usage } from "../errors.ts";

/** Bytes of a piped prompt. */
const MAX_PROMPT_BYTES = 4 * 1_024 * 1_024;

/** @throws CavemanError `cave_cli_usage` at a terminal, for nothing, and for too much. */
export async function wordsFromStdin(): Promise<string> {
  if (process.stdin.isTTY)
    throw usage("The prompt is missing", "Pass it as an argument, or open a terminal for a session.");
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    bytes += (chunk as Buffer).length;
    if (bytes > MAX_PROMPT_BYTES)
      throw usage(
        `The prompt on stdin is longer than ${MAX_PROMPT_BYTES} bytes`,
        "Write it to a file in the workspace and name the file.",
      );
    chunks.push(chunk as Buffer);
  }
  const words = Buffer.concat(chunks).toString("utf8").trim();
  if (words === "")
    throw usage("The prompt on stdin is empty", "Write the prompt to stdin, or pass it as an argument.");
  return words;
}
