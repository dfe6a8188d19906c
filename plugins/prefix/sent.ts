/** A request that was sent, and the trace of it that is saved with a conversation. */
import { type ModelMessage, type ModelTool, sha256, type View } from "../../kernel/index.ts";

/** What of a request stands before its newest messages. */
export interface Request {
  readonly view: View;
  /** Texts that stand before the view: the system prompt, and a schema where the answer has one. */
  readonly system: readonly string[];
  readonly tools: readonly ModelTool[];
  /** Context added before the newest user message. */
  readonly additions: readonly ModelMessage[];
  /** Index in the view of the newest user message; -1 when there is none. */
  readonly userAt: number;
  /** Messages of the whole prompt. */
  readonly length: number;
}

/** What is kept of a request when a conversation is saved. */
export interface SavedRequest {
  readonly count: number;
  readonly chain: string;
  readonly system: string;
  readonly tools: string;
  readonly context: boolean;
}

/** A request that was sent, or the trace that a saved conversation kept of one. */
export type Sent = Request | SavedRequest;
export const isSaved = (sent: Sent): sent is SavedRequest => "chain" in sent;

export const savedForm = (sent: Sent): SavedRequest =>
  isSaved(sent)
    ? sent
    : {
        count: sent.view.length,
        chain: chainOf(sent.view, sent.view.length),
        system: digestOfTexts(sent.system),
        tools: digestOfTools(sent.tools),
        context: sent.additions.length > 0,
      };

/** Digest of the first messages of a view, over the digests the messages keep. Once a run, when a conversation needs it. */
export function chainOf(view: View, count: number): string {
  const digests: string[] = [];
  for (let i = 0; i < count; i++) digests.push(view.at(i)?.digest ?? "");
  return sha256(digests.join());
}
export const digestOfTexts = (texts: readonly string[]): string => sha256(JSON.stringify(texts));

const toolDigests = new WeakMap<object, string>();
export function digestOfTools(tools: readonly ModelTool[]): string {
  let digest = toolDigests.get(tools);
  if (digest === undefined) toolDigests.set(tools, (digest = sha256(JSON.stringify(tools))));
  return digest;
}
