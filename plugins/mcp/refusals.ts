/** What is left out of a server's tools, told in one notice a reason: a server with many tools is no reason for many. */
import { cleanText } from "./definition.ts";

/** Names in a notice; the others are counted. */
const NAMED = 8;

/** Names of tools as text; the server chose them, so they are cleaned. */
export function quoted(names: readonly string[]): string {
  const shown = names.slice(0, NAMED).map((name) => JSON.stringify(cleanText(name, 80)));
  return `${shown.join(", ")}${names.length > NAMED ? ` and ${names.length - NAMED} more` : ""}`;
}

export class Refusals {
  readonly #byReason = new Map<string, { readonly code: string; readonly why: string; readonly names: string[] }>();
  count = 0;

  add(code: string, why: string, name: string): void {
    this.count++;
    const known = this.#byReason.get(why);
    if (known) known.names.push(name);
    else this.#byReason.set(why, { code, why, names: [name] });
  }
  notices(server: string): { readonly code: string; readonly message: string }[] {
    return [...this.#byReason.values()].map(({ code, why, names }) => ({
      code,
      message: `${server}: left out ${quoted(names)}: ${why}.`,
    }));
  }
}
