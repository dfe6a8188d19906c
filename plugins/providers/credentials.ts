/** Keys come from the environment alone. They are checked here, and no message made here contains one. */
import { CavemanError } from "../../kernel/index.ts";
import type { Regime } from "../services.ts";

export type Env = Readonly<Record<string, string | undefined>>;
export type Vendor = "anthropic" | "openai" | "google";

/** The variables that hold a vendor's key, the first present one counts; and the model `auto()` takes for a lone key. */
export const VENDORS: Readonly<Record<Vendor, { readonly variables: readonly string[]; readonly model: string }>> = {
  anthropic: { variables: ["ANTHROPIC_API_KEY"], model: "anthropic/claude-haiku-4-5" },
  openai: { variables: ["OPENAI_API_KEY"], model: "openai/gpt-5.4-mini" },
  google: { variables: ["GEMINI_API_KEY", "GOOGLE_API_KEY"], model: "google/gemini-2.5-flash" },
};
export const isVendor = (name: string): name is Vendor => Object.hasOwn(VENDORS, name);

/** Characters below which no vendor issues a key. */
const SHORTEST_KEY = 8;

/** The first of the variables that is set to anything at all. */
const present = (env: Env, variables: readonly string[]): string | undefined =>
  variables.find((name) => (env[name] ?? "") !== "");

/**
 * The key held by the first present variable.
 * @throws CavemanError `cave_provider_credentials` when none is set or the value cannot be a key. The value is never shown.
 */
export function credential(env: Env, variables: readonly string[], place: string): string {
  const name = present(env, variables);
  if (name === undefined)
    throw new CavemanError("cave_provider_credentials", {
      place,
      expected: `${variables.join(" or ")} in the environment`,
      received: "none",
    });
  const key = env[name] ?? "";
  const fault = malformed(key);
  if (fault)
    throw new CavemanError("cave_provider_credentials", {
      place: `${place}, environment variable ${name}`,
      expected: `printable ASCII without spaces, ${SHORTEST_KEY} characters or more`,
      received: fault,
    });
  return key;
}

function malformed(key: string): string | undefined {
  if (/[\r\n]/.test(key)) return "a value with a line break";
  if (/\s/.test(key)) return "a value with white space";
  if (!/^[\x21-\x7e]*$/.test(key)) return "a value with characters outside printable ASCII";
  return key.length < SHORTEST_KEY ? "a value that is too short" : undefined;
}

/**
 * How an account is billed, as far as its key tells. Anthropic's `sk-ant-oat` and `sk-ant-sid` and OpenAI's `sess-` are
 * tokens of subscriptions; Google's OAuth tokens and JWTs may be either; every other key is billed by the call.
 */
export const regimeOf = (key: string): Regime =>
  /^(?:sk-ant-oat|sk-ant-sid|sess-)/.test(key) ? "subscription" : /^(?:ya29\.|eyJ)/.test(key) ? "unknown" : "metered";

/**
 * The model of the only vendor whose key is present.
 * @throws CavemanError `cave_provider_credentials` for none or several, with everything that may be set.
 */
export function loneModel(env: Env): string {
  const names = Object.keys(VENDORS).filter(isVendor);
  const found = names.filter((name) => present(env, VENDORS[name].variables) !== undefined);
  const [only, ...more] = found;
  if (only !== undefined && more.length === 0) {
    credential(env, VENDORS[only].variables, `provider ${only}`);
    return VENDORS[only].model;
  }
  const every = names.map((name) => VENDORS[name].variables.join(" or ")).join(", ");
  const remedy =
    found.length === 0
      ? `Set one of ${every}, or CAVE_MODEL with the key of its provider.`
      : `Set CAVE_MODEL=provider/model (such as ${found.map((name) => VENDORS[name].model).join(" or ")}), or keep one of ${found.flatMap((name) => VENDORS[name].variables.filter((variable) => (env[variable] ?? "") !== "")).join(", ")}.`;
  throw new CavemanError("cave_provider_credentials", {
    place: "auto()",
    remedy,
    expected: "CAVE_MODEL=provider/model, .caveman/provider.json, or exactly one credential",
    received: found.length === 0 ? "none" : `credentials of ${found.join(", ")}`,
  });
}
