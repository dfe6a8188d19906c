/**
 * Providers: which model a run calls, how it is reached, and how much of its allowance it may think. Taps `beforeCall`
 * twice; provides `Models`, `Credentials` and `ProviderFaults`. Keys come from the environment and leave it only in a request's headers.
 */
import { type Static, Type } from "@sinclair/typebox";
import {
  AUTO,
  CavemanError,
  definePlugin,
  isModel,
  type ModelSpec,
  type ResolvedModel,
  type Run,
} from "../../kernel/index.ts";
import { Credentials, Models, ProviderFaults } from "../services.ts";
import { classify } from "./classify.ts";
import { isVendor } from "./credentials.ts";
import { providerErrors } from "./errors.ts";
import { foreignTakesLevel, levelOf } from "./reasoning.ts";
import { asItIs, type ResolveSettings, regimeOfModel, resolveModel } from "./resolve.ts";

export { classify } from "./classify.ts";

const HTTP = "^https?://";
const Endpoint = Type.Object(
  {
    baseURL: Type.String({ pattern: HTTP, description: "Root of its OpenAI-compatible API." }),
    apiKeyEnv: Type.Optional(
      Type.String({ pattern: "^[A-Za-z_][A-Za-z0-9_]*$", description: "Environment variable that holds its key." }),
    ),
    structuredOutput: Type.Optional(
      Type.Boolean({ description: "Takes a JSON schema for the answer. Default false." }),
    ),
    reasoning: Type.Optional(Type.Boolean({ description: "Takes reasoning_effort. Default false." })),
    contextWindow: Type.Optional(Type.Integer({ minimum: 1, description: "Tokens." })),
    maxOutput: Type.Optional(Type.Integer({ minimum: 1, description: "Tokens." })),
  },
  { additionalProperties: false },
);
const Options = Type.Object({
  endpoints: Type.Record(Type.String(), Endpoint, {
    default: {},
    description: "OpenAI-compatible servers by the name used before the slash.",
  }),
  baseURLs: Type.Object(
    {
      anthropic: Type.Optional(Type.String({ pattern: HTTP })),
      openai: Type.Optional(Type.String({ pattern: HTTP })),
      google: Type.Optional(Type.String({ pattern: HTTP })),
    },
    { additionalProperties: false, default: {}, description: "Other roots of the vendors' APIs." },
  ),
  openaiApi: Type.Union([Type.Literal("responses"), Type.Literal("chat")], {
    default: "responses",
    description: "Which API of OpenAI to speak.",
  }),
  scriptRoot: Type.Optional(
    Type.String({ description: "Folder of sim/… scripts, from the run's root. Default: the root." }),
  ),
});

export const providers = definePlugin({
  name: "providers",
  description: "Resolves models, keeps their keys, and fits reasoning into the allowance.",
  options: Options,
  errors: providerErrors,
  prepare(run) {
    const preparing = run.service(Models).prepare();
    return preparing instanceof Promise ? preparing.then(() => undefined) : undefined;
  },
  apply(kernel, options) {
    const settings = checked(options);
    const modelsOf = kernel.perRun((run) => new RunModels(run, settings));
    kernel.provide(Models, modelsOf);
    kernel.provide(Credentials, () => ({ regimeOf: regimeOfModel }));
    kernel.provide(ProviderFaults, () => ({ classify: (cause) => classify(cause, kernel.clock.now()) }));
    kernel.hooks.beforeCall.tap({ name: "providers:resolve", stage: "resolve", guard: true }, (call) => {
      const { resolved } = modelsOf(call.run);
      if (!call.model && resolved) call.setModel(resolved);
    });
    kernel.hooks.beforeCall.tap({ name: "providers:reasoning", stage: "shape" }, (call) => {
      if (!call.model || call.settings.reasoning !== undefined) return;
      if (modelsOf(call.run).built(call.model) || foreignTakesLevel(call.model.model.provider, call.model.id))
        call.setSettings({ reasoning: levelOf(call.run.agent.reasoning) });
    });
  },
});

/** The names of vendors and `sim` are taken, and a name must be one that a specification can hold. */
function checked(options: Static<typeof Options>): ResolveSettings {
  for (const name of Object.keys(options.endpoints)) {
    if (!/^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(name) || name === "sim" || isVendor(name))
      throw new CavemanError("cave_option_invalid", {
        place: "plugin providers options.endpoints",
        expected: "a name of letters, digits, _ . - that is not anthropic, openai, google or sim",
        received: JSON.stringify(name),
      });
  }
  return options as ResolveSettings;
}

/** Models whose requests are corrected on their way out, so that any level may be told to them. */
const corrected = new WeakSet<object>();

/** The models of one run. */
class RunModels implements Models {
  readonly #run: Run;
  readonly #settings: ResolveSettings;
  resolved: ResolvedModel | undefined;

  constructor(run: Run, settings: ResolveSettings) {
    this.#run = run;
    this.#settings = settings;
  }

  /** A child that says `auto()` calls what its parent calls; the override of a run reaches no child that names a model. */
  prepare(): ResolvedModel | Promise<ResolvedModel> {
    const { agent, options, parent } = this.#run;
    this.resolved ??= parent && agent.model === AUTO ? parent.find(Models)?.resolved : undefined;
    if (this.resolved) return this.resolved;
    const spec = parent ? agent.model : (options.model ?? agent.model);
    if (isModel(spec)) return (this.resolved = asItIs(spec));
    return this.resolve(spec).then((resolved) => (this.resolved = resolved));
  }

  async resolve(spec: ModelSpec): Promise<ResolvedModel> {
    const resolved = await resolveModel(spec, this.#settings, process.env, this.#run.options.rootDir ?? process.cwd());
    if (typeof spec !== "object" && !resolved.simulated) corrected.add(resolved.model);
    return resolved;
  }

  built(model: ResolvedModel): boolean {
    return corrected.has(model.model);
  }
}
