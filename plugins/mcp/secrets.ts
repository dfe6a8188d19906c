/** Values of the environment that a configuration names: put in where a server gets them, struck out of what it says. */
import { CavemanError } from "../../kernel/index.ts";
import type { Secret } from "./options.ts";

/** @throws CavemanError `cave_mcp_env_missing`, naming the variable and never a value. */
export function reveal(values: Readonly<Record<string, Secret>>, place: string): Record<string, string> {
  const out: Record<string, string> = {};
  for (const [key, value] of Object.entries(values)) {
    if (typeof value === "string") {
      out[key] = value;
      continue;
    }
    const found = process.env[value.env];
    if (found === undefined || found === "")
      throw new CavemanError("cave_mcp_env_missing", { place: `${place}.${key}`, expected: value.env });
    out[key] = `${value.prefix ?? ""}${found}`;
  }
  return out;
}

/** The values that came out of the environment, so that they can be struck out of what a server says. */
export const secretsIn = (values: Readonly<Record<string, Secret>> | undefined): string[] =>
  Object.values(values ?? {}).flatMap((value) => {
    const found = typeof value === "string" ? undefined : process.env[value.env];
    return found ? [found] : [];
  });
