/** When the model script beside an agent answers in place of a model. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { RunOptions } from "../kernel/contract.ts";
import { AUTO } from "../kernel/definition.ts";
import type { FoundAgent } from "./agent.ts";

const VENDOR_MODEL = /^(anthropic|openai|google)\//;

/**
 * The `sim/…` name of the script beside the agent, when the agent leaves its model to what is there (`auto()`) or names
 * a vendor's, and no credential and no other choice of model is set.
 */
export function simulatedModel(
  found: FoundAgent,
  run: RunOptions,
  env: Readonly<Record<string, string | undefined>> = process.env,
): string | undefined {
  if (
    found.script === undefined ||
    env.CAVE_MODEL ||
    credentialsIn(env).length > 0 ||
    existsSync(join(found.dir, ".caveman/provider.json"))
  )
    return undefined;
  const model = found.run.model ?? run.model ?? found.agent.model;
  return model === AUTO || (typeof model === "string" && VENDOR_MODEL.test(model)) ? `sim/${found.script}` : undefined;
}

/** The environment variables that hold a provider's key, as the providers plugin reads them. */
export const CREDENTIALS: readonly string[] = [
  "ANTHROPIC_API_KEY",
  "OPENAI_API_KEY",
  "GEMINI_API_KEY",
  "GOOGLE_API_KEY",
];

/** Which of them are set. */
export const credentialsIn = (env: Readonly<Record<string, string | undefined>>): readonly string[] =>
  CREDENTIALS.filter((name) => Boolean(env[name]));
