/** A model that keeps what it was asked and what its answer used. */
import type { CallOptions, LanguageModel, ModelStreamPart, ModelUsage } from "../../kernel/index.ts";
import { normalUsage, type Usage } from "../../kernel/model.ts";

export interface RecordedCall {
  /** Epoch milliseconds. */
  readonly at: number;
  /** The tools, then each message, as JSON without a provider's own options. */
  readonly segments: readonly string[];
  /** Absent while the answer is open, and when it failed. */
  usage: Usage | undefined;
}

/** Records every call of `model` into `calls`, which passes for `provider/id`. */
export function recorded(model: LanguageModel, name: string, calls: RecordedCall[]): LanguageModel {
  const slash = name.indexOf("/");
  const open = (request: CallOptions): RecordedCall => {
    const call: RecordedCall = { at: Date.now(), segments: segmentsOf(request), usage: undefined };
    calls.push(call);
    return call;
  };
  const settle = (call: RecordedCall, usage: ModelUsage): void => {
    call.usage = normalUsage(usage);
  };
  return {
    ...model,
    provider: name.slice(0, slash),
    modelId: name.slice(slash + 1),
    async doGenerate(request) {
      const call = open(request);
      const answer = await model.doGenerate(request);
      settle(call, answer.usage);
      return answer;
    },
    async doStream(request) {
      const call = open(request);
      const answer = await model.doStream(request);
      const watch = new TransformStream<ModelStreamPart, ModelStreamPart>({
        transform(part, controller) {
          if (part.type === "finish") settle(call, part.usage);
          controller.enqueue(part);
        },
      });
      return { ...answer, stream: answer.stream.pipeThrough(watch) };
    },
  };
}

/** Cache marks and the like move from call to call and are no part of what a provider compares. */
const segmentsOf = ({ tools = [], prompt }: CallOptions): string[] =>
  [tools, ...prompt].map((segment) =>
    JSON.stringify(segment, (key, value: unknown) => (key === "providerOptions" ? undefined : value)),
  );
