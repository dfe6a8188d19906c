/** Models of the vendors and of OpenAI-compatible endpoints. A vendor's package is loaded when it is first used. */
import type { LanguageModel } from "../../kernel/index.ts";
import { CavemanError } from "../../kernel/index.ts";
import { credential, type Env, VENDORS, type Vendor } from "./credentials.ts";
import { anthropicRequest, endpointRequest, googleRequest, openaiRequest } from "./reasoning.ts";
import { guarded } from "./scrub.ts";

export interface Endpoint {
  readonly baseURL: string;
  /** The environment variable that holds its key. Without one no key is sent. */
  readonly apiKeyEnv?: string;
  /** Whether it takes a JSON schema for the answer. Default false. */
  readonly structuredOutput?: boolean;
  /** Whether it takes `reasoning_effort`. Default false. */
  readonly reasoning?: boolean;
  /** Tokens. */
  readonly contextWindow?: number;
  /** Tokens. */
  readonly maxOutput?: number;
}

export interface VendorSettings {
  readonly baseURL?: string;
  readonly openaiApi: "responses" | "chat";
}

async function load<T>(name: string, importing: () => Promise<T>): Promise<T> {
  try {
    return await importing();
  } catch (cause) {
    throw new CavemanError("cave_provider_package", { expected: `the package ${name}`, cause });
  }
}

/** @throws CavemanError `cave_provider_credentials`, `cave_provider_package`. */
export async function vendorModel(
  vendor: Vendor,
  id: string,
  env: Env,
  settings: VendorSettings,
): Promise<LanguageModel> {
  const apiKey = credential(env, VENDORS[vendor].variables, `provider ${vendor}`);
  const given = { apiKey, ...(settings.baseURL === undefined ? {} : { baseURL: settings.baseURL }) };
  switch (vendor) {
    case "anthropic": {
      const [{ createAnthropic }, { getModelCapabilities }] = await load("@ai-sdk/anthropic", () =>
        Promise.all([import("@ai-sdk/anthropic"), import("@ai-sdk/anthropic/internal")]),
      );
      const capabilities = getModelCapabilities(id);
      return guarded(createAnthropic(given).languageModel(id), [apiKey], (options) =>
        anthropicRequest(options, id, capabilities),
      );
    }
    case "openai": {
      const { createOpenAI } = await load("@ai-sdk/openai", () => import("@ai-sdk/openai"));
      const openai = createOpenAI(given);
      return guarded(settings.openaiApi === "chat" ? openai.chat(id) : openai.responses(id), [apiKey], (options) =>
        openaiRequest(options, id),
      );
    }
    case "google": {
      const { createGoogleGenerativeAI } = await load("@ai-sdk/google", () => import("@ai-sdk/google"));
      return guarded(createGoogleGenerativeAI(given).languageModel(id), [apiKey], (options) =>
        googleRequest(options, id),
      );
    }
  }
}

/** @throws CavemanError `cave_provider_credentials`, `cave_provider_package`. */
export async function endpointModel(name: string, id: string, endpoint: Endpoint, env: Env): Promise<LanguageModel> {
  const apiKey =
    endpoint.apiKeyEnv === undefined ? undefined : credential(env, [endpoint.apiKeyEnv], `endpoint ${name}`);
  const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible", () => import("@ai-sdk/openai-compatible"));
  const provider = createOpenAICompatible({
    name,
    baseURL: endpoint.baseURL,
    includeUsage: true,
    supportsStructuredOutputs: endpoint.structuredOutput ?? false,
    ...(apiKey === undefined ? {} : { apiKey }),
  });
  return guarded(provider.languageModel(id), apiKey === undefined ? [] : [apiKey], (options) =>
    endpointRequest(options, endpoint.reasoning ?? false),
  );
}
