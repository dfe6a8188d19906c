/** The error rows of this plugin. No row, detail or message ever carries a key. */
import { defineErrors } from "../../kernel/index.ts";

export const providerErrors = defineErrors({
  cave_provider_credentials: {
    meaning: "The model cannot be chosen or called with the credentials of this environment.",
    remedy: "Set exactly what the message lists.",
  },
  cave_provider_unknown: {
    meaning: "No provider has this name.",
    remedy: "Use anthropic, openai, google, sim, or the name of a configured endpoint.",
  },
  cave_provider_config: {
    meaning: ".caveman/provider.json cannot be used.",
    remedy: 'Write {"model": "provider/model"} into it, or remove it.',
  },
  cave_provider_package: {
    meaning: "The package of a provider cannot be loaded.",
    remedy: "Install it; the message names it.",
  },
  cave_sim_script_invalid: {
    meaning: "A simulated model's script is missing or has a wrong shape.",
    remedy: "Export by default an array of steps, a function, or { script, as }.",
  },
  cave_provider_auth: {
    meaning: "The provider refused the credentials.",
    remedy: "Check the key and its permissions.",
  },
  cave_provider_rate_limited: {
    meaning: "The provider limits the rate of calls.",
    remedy: "Wait, or add the retry plugin.",
  },
  cave_provider_quota: {
    meaning: "The provider account has no quota or credit left.",
    remedy: "Raise it with the provider; waiting does not help.",
  },
  cave_provider_overloaded: {
    meaning: "The provider is overloaded or failing.",
    remedy: "Try again later, or add the retry plugin.",
  },
  cave_provider_too_large: {
    meaning: "The request is larger than the model takes.",
    remedy: "Shorten it, or add the compaction plugin.",
  },
  cave_provider_rejected: {
    meaning: "The provider refused the request as wrong.",
    remedy: "See the message; correct the model name or the request.",
  },
  cave_provider_unreachable: {
    meaning: "The provider cannot be reached.",
    remedy: "Check the network and the base URL.",
  },
});
