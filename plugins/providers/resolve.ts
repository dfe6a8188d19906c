/** From what a definition says to a model that can be called. */
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import {
  AUTO,
  CavemanError,
  isModel,
  type LanguageModel,
  type ModelSpec,
  nearest,
  type ResolvedModel,
  tokens,
} from "../../kernel/index.ts";
import type { Regime } from "../services.ts";
import { credential, type Env, isVendor, loneModel, regimeOf, VENDORS, type Vendor } from "./credentials.ts";
import { type Endpoint, endpointModel, vendorModel } from "./vendors.ts";

export interface ResolveSettings {
  readonly endpoints: Readonly<Record<string, Endpoint>>;
  readonly baseURLs: Readonly<Partial<Record<Vendor, string>>>;
  readonly openaiApi: "responses" | "chat";
  /** Where `sim/…` scripts are; default: the run's root. */
  readonly scriptRoot?: string;
}

/** How the accounts behind the models made here are billed. A model object of the caller's is the caller's to know: metered. */
const regimes = new WeakMap<LanguageModel, Regime>();
export const regimeOfModel = ({ model }: Pick<ResolvedModel, "model">): Regime => regimes.get(model) ?? "metered";

const NAMED = /^[^/\s]+\/\S+$/;

/**
 * What `auto()` means here: CAVE_MODEL, then `.caveman/provider.json` under the root, then the only credential present.
 * @throws CavemanError `cave_model_invalid`, `cave_provider_config`, `cave_provider_credentials`.
 */
export async function autoSpec(env: Env, root: string): Promise<string> {
  const chosen = env.CAVE_MODEL?.trim();
  if (chosen) {
    if (!NAMED.test(chosen))
      throw new CavemanError("cave_model_invalid", {
        place: "CAVE_MODEL",
        expected: "provider/model",
        received: "something else",
      });
    return chosen;
  }
  return (await configuredSpec(root)) ?? loneModel(env);
}

async function configuredSpec(root: string): Promise<string | undefined> {
  const path = join(root, ".caveman", "provider.json");
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    const { code } = cause as { code?: unknown };
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new CavemanError("cave_provider_config", { place: path, received: String(code ?? "unreadable"), cause });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message quotes the file; a file with a key in it by mistake must not be quoted.
    throw new CavemanError("cave_provider_config", { place: path, expected: "JSON", received: "something else" });
  }
  const model = typeof value === "object" && value !== null ? (value as { model?: unknown }).model : undefined;
  if (typeof model !== "string" || !NAMED.test(model))
    throw new CavemanError("cave_provider_config", {
      place: path,
      expected: '{"model": "provider/model"}',
      received: "something else",
    });
  return model;
}

/**
 * Resolves a specification. A model object is used as it is.
 * @throws CavemanError `cave_model_invalid`, `cave_provider_unknown`, `cave_provider_credentials`,
 * `cave_provider_config`, `cave_provider_package`, `cave_sim_script_invalid`.
 */
export async function resolveModel(
  spec: ModelSpec,
  settings: ResolveSettings,
  env: Env,
  rootDir: string,
): Promise<ResolvedModel> {
  const root = resolve(rootDir);
  const named = spec === AUTO ? await autoSpec(env, root) : spec;
  if (isModel(named)) return asItIs(named);
  if (typeof named !== "string" || !NAMED.test(named))
    throw new CavemanError("cave_model_invalid", {
      expected: "auto(), provider/model or a LanguageModelV4 object",
      received: typeof named === "string" ? JSON.stringify(named) : typeof named,
    });
  const slash = named.indexOf("/");
  const provider = named.slice(0, slash);
  const id = named.slice(slash + 1);
  if (provider === "sim") {
    // Loaded when used: the scripted models bring an HTTP server with them.
    const { simulatedModel } = await import("./sim.ts");
    return asItIs(
      await simulatedModel(id, settings.scriptRoot === undefined ? root : resolve(root, settings.scriptRoot)),
    );
  }
  if (isVendor(provider)) {
    const baseURL = settings.baseURLs[provider];
    const model = await vendorModel(provider, id, env, {
      openaiApi: settings.openaiApi,
      ...(baseURL === undefined ? {} : { baseURL }),
    });
    regimes.set(model, regimeOf(credential(env, VENDORS[provider].variables, `provider ${provider}`)));
    return { provider, id, model, simulated: false, structuredOutput: true, route: "direct" };
  }
  const endpoint = Object.hasOwn(settings.endpoints, provider) ? settings.endpoints[provider] : undefined;
  if (!endpoint) {
    const known = [...Object.keys(VENDORS), "sim", ...Object.keys(settings.endpoints)];
    const meant = nearest(provider, known);
    throw new CavemanError("cave_provider_unknown", {
      place: `model ${JSON.stringify(named)}`,
      expected: meant ? `"${meant}"` : known.join(", "),
      received: `"${provider}"`,
      remedy: meant ? `Did you mean "${meant}/${id}"?` : undefined,
    });
  }
  return {
    provider,
    id,
    model: await endpointModel(provider, id, endpoint, env),
    simulated: false,
    structuredOutput: endpoint.structuredOutput ?? false,
    route: "direct",
    ...limits(endpoint),
  };
}

/** What a model object says of itself beside the interface. */
interface SelfDescribed {
  readonly simulated?: unknown;
  readonly structuredOutput?: unknown;
  readonly contextWindow?: unknown;
  readonly maxOutput?: unknown;
}

/** A model object, with what it says of itself. */
export function asItIs(model: LanguageModel): ResolvedModel {
  const said = model as LanguageModel & SelfDescribed;
  // Vendor packages name themselves `vendor.api`; prices and limits go by the vendor.
  const provider = model.provider.split(".")[0] || model.provider;
  return {
    provider,
    id: model.modelId,
    model,
    simulated: said.simulated === true,
    route: "direct",
    structuredOutput: typeof said.structuredOutput === "boolean" ? said.structuredOutput : isVendor(provider),
    ...limits(said),
  };
}

function limits({
  contextWindow,
  maxOutput,
}: {
  readonly contextWindow?: unknown;
  readonly maxOutput?: unknown;
}): Pick<ResolvedModel, "contextWindow" | "maxOutput"> {
  const positive = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0;
  return {
    ...(positive(contextWindow) ? { contextWindow: tokens(contextWindow) } : {}),
    ...(positive(maxOutput) ? { maxOutput: tokens(maxOutput) } : {}),
  };
}
