/** Where a command writes: stdout for data, stderr for the rest, colour only for a person who wants it. */
import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

export interface Terminal {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Whether a person reads stdout. */
  readonly person: boolean;
  /** Whether colour is wanted. */
  readonly colour: boolean;
  /** Styles text for stderr, or leaves it plain. */
  readonly style: (style: Style, text: string) => string;
}

export function terminal(
  stdout: NodeJS.WriteStream = process.stdout,
  stderr: NodeJS.WriteStream = process.stderr,
  failed: (error: NodeJS.ErrnoException) => void = () => undefined,
): Terminal {
  const colour = !process.env.NO_COLOR && process.env.TERM !== "dumb" && stderr.isTTY === true && stdout.isTTY === true;
  // A reader that goes away (`caveman … | head`) ends the output, not the run's settlement.
  for (const stream of [stdout, stderr]) stream.on("error", () => undefined);
  return {
    out: (text) => void stdout.write(text, (error) => void (error && failed(error))),
    err: (text) => void stderr.write(text),
    person: stdout.isTTY === true,
    colour,
    style: (style, text) => (colour ? styleText(style, text, { validateStream: false }) : text),
  };
}
