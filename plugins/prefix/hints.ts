/**
 * Cache hints, in each vendor's own words. A hint is placed while a request leaves: on copies, so that the messages of
 * the transcript stay the objects they are, and no byte that a vendor counts as prompt is another one.
 */
import type { Row } from "../../catalog/row.ts";
import type { CallOptions, LanguageModel, ModelMessage, ModelTool, ResolvedModel } from "../../kernel/index.ts";

/** Marks in the request, a key beside it, or nothing. */
export type Dialect = "anthropic" | "bedrock" | "openai";

/** How a model is told what to cache; undefined when the catalog does not say that it takes hints. */
export function dialectOf(
  { provider, id }: Pick<ResolvedModel, "provider" | "id">,
  row: Row | undefined,
): Dialect | undefined {
  const mode = row?.cache.mode;
  const vendor = provider.split(".")[0];
  if (mode === "explicit") {
    if (vendor === "anthropic" || (vendor === "vertex" && id.includes("claude"))) return "anthropic";
    if (vendor === "bedrock" || vendor === "amazon-bedrock") return "bedrock";
  }
  return mode === "implicit" && vendor === "openai" ? "openai" : undefined;
}

/** Both vendors read at most four. */
export const MAX_MARKS = 4;

type ProviderOptions = NonNullable<ModelMessage["providerOptions"]>;
type MarkDialect = Exclude<Dialect, "openai">;
const MARKS: Readonly<Record<MarkDialect, { readonly key: string; readonly value: ProviderOptions[string] }>> = {
  anthropic: { key: "cacheControl", value: { cacheControl: { type: "ephemeral" } } },
  bedrock: { key: "cachePoint", value: { cachePoint: { type: "default" } } },
};

/** Where marks go: after the tools, after the system prompt, where the request before ended, and at the end. */
interface Places {
  readonly dialect: MarkDialect;
  /** Messages before the view. */
  readonly systemLength: number;
  /** Length of the prompt before this one, when this one begins with it. */
  readonly before: number | undefined;
}
const places = new WeakMap<object, Places>();

/** Notes where the marks of a frozen prompt go. Requests without a note leave as they are. */
export const placeMarks = (prompt: readonly ModelMessage[], where: Places): void => void places.set(prompt, where);

/** A model that places marks while it sends. */
class MarkingModel implements LanguageModel {
  readonly specificationVersion: LanguageModel["specificationVersion"];
  readonly provider: string;
  readonly modelId: string;
  readonly #model: LanguageModel;

  constructor(model: LanguageModel) {
    this.specificationVersion = model.specificationVersion;
    this.provider = model.provider;
    this.modelId = model.modelId;
    this.#model = model;
  }
  get supportedUrls(): LanguageModel["supportedUrls"] {
    return this.#model.supportedUrls;
  }
  doGenerate(options: CallOptions): ReturnType<LanguageModel["doGenerate"]> {
    return this.#model.doGenerate(decorated(options));
  }
  doStream(options: CallOptions): ReturnType<LanguageModel["doStream"]> {
    return this.#model.doStream(decorated(options));
  }
}

/** The models of a run with their marks. One for each model, so that who compares models still can. */
export class Marking {
  readonly #marked = new Map<ResolvedModel, ResolvedModel>();

  /** The same model, placing marks while it sends. */
  of(resolved: ResolvedModel): ResolvedModel {
    let found = this.#marked.get(resolved);
    if (found) return found;
    if (resolved.model instanceof MarkingModel) return resolved;
    found = Object.freeze({ ...resolved, model: new MarkingModel(resolved.model) });
    this.#marked.set(resolved, found);
    return found;
  }
}

/** A request with its marks. The caller's own marks stay where they are, and ours take what is left of the four. */
export function decorated(options: CallOptions): CallOptions {
  const where = places.get(options.prompt);
  if (!where) return options;
  const { dialect, systemLength, before } = where;
  const { key, value } = MARKS[dialect];
  const { prompt, tools } = options;
  const own = (of: ProviderOptions | undefined): boolean => of?.[dialect]?.[key] !== undefined;
  // A mark for the whole call, or on tools or system, is a layout somebody chose.
  if (own(options.providerOptions) || tools?.some((tool) => "providerOptions" in tool && own(tool.providerOptions)))
    return options;
  const ends = [prompt.length - 1, ...(before === undefined ? [] : [before - 1]), systemLength - 1];
  const at = new Set(ends.filter((index) => index >= 0 && index < prompt.length));
  if ([...at].some((index) => own(prompt[index]?.providerOptions))) return options;
  const marked = prompt.slice();
  for (const index of at) {
    const message = prompt[index];
    if (message) marked[index] = { ...message, providerOptions: merged(message.providerOptions, dialect, value) };
  }
  const last = tools?.at(-1);
  if (dialect !== "anthropic" || !tools || last?.type !== "function" || at.size >= MAX_MARKS)
    return { ...options, prompt: marked };
  return { ...options, prompt: marked, tools: markedTools(tools, last, value) };
}

const merged = (
  given: ProviderOptions | undefined,
  dialect: MarkDialect,
  value: ProviderOptions[string],
): ProviderOptions => ({
  ...given,
  [dialect]: { ...given?.[dialect], ...value },
});

const toolLists = new WeakMap<object, NonNullable<CallOptions["tools"]>>();
function markedTools(
  tools: NonNullable<CallOptions["tools"]>,
  last: ModelTool,
  value: ProviderOptions[string],
): NonNullable<CallOptions["tools"]> {
  let list = toolLists.get(tools);
  if (!list) {
    list = [...tools.slice(0, -1), { ...last, providerOptions: merged(last.providerOptions, "anthropic", value) }];
    toolLists.set(tools, list);
  }
  return list;
}

/** The provider options of a call with a cache key, unless the caller chose one. */
export function withCacheKey(given: CallOptions["providerOptions"], key: string): CallOptions["providerOptions"] {
  return given?.openai?.promptCacheKey === undefined
    ? { ...given, openai: { ...given?.openai, promptCacheKey: key } }
    : given;
}
