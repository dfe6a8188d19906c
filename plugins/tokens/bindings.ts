/** Which models `o200k_base` counts exactly, and for which it stands in. What is in neither list is unmeasured. */
import type { PricedModel } from "../services.ts";

/** OpenAI's models whose published encoding has the ranks of `o200k_base`. */
const O200K = /^(gpt-4o|gpt-4\.1|gpt-4\.5|gpt-5|gpt-oss|chatgpt-4o|codex-mini|computer-use-preview|o[134])(?![a-z0-9])/;
const OPENAI = new Set(["openai", "azure", "azure-openai"]);

/** Providers whose own encoding is not public, or not here, and whose text `o200k_base` models by default. */
export const STAND_INS: readonly string[] = [
  "amazon-bedrock",
  "anthropic",
  "azure",
  "azure-openai",
  "bedrock",
  "cohere",
  "deepseek",
  "google",
  "google-vertex",
  "groq",
  "mistral",
  "openai",
  "openrouter",
  "vertex",
  "xai",
];

/** `exact`, `modelled`, or undefined when nothing is known to count this model's text. */
export function bindingOf(
  { provider, id }: PricedModel,
  standIns: ReadonlySet<string>,
): "exact" | "modelled" | undefined {
  const [name = provider] = provider.toLowerCase().split(/[./]/);
  if (OPENAI.has(name) && O200K.test(id.toLowerCase())) return "exact";
  return standIns.has(name) ? "modelled" : undefined;
}
