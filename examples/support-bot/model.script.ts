/**
 * The model of this example when there is no provider: it reads each request and answers as a model would, so every
 * word about an order comes from a tool that really ran. The subagent is played by the same script, told apart by its tool.
 */
import type { Script, ScriptStep } from "caveman-agent/testing";

type Request = Parameters<Extract<Script, (...args: never) => unknown>>[0];

const script: Script = (request) =>
  request.tools?.some((tool) => tool.name === "search_notices") ? researcher(request) : support(request);
export default { script, as: "anthropic/claude-haiku-4-5" };

function support(request: Request): ScriptStep {
  const { asked, results } = read(request);
  const orderId = /A-\d{3}/.exec(asked)?.[0];
  if (!orderId) return { text: "Which order is it? Please send me its number; it looks like A-123." };

  if (!results.has("lookup_order")) {
    const toolCalls = [{ name: "lookup_order", input: { orderId } }];
    return /refund|money|back/i.test(asked)
      ? {
          text: "Let me look at the order and at our policy.",
          toolCalls: [{ name: "cave_skill", input: { name: "refund-policy" } }, ...toolCalls],
        }
      : { text: "Let me look.", toolCalls };
  }
  const order = fields(results.get("lookup_order"));
  if (order.found !== true) return { text: `I cannot find order ${orderId}. Please check its number.` };

  const days = Number(order.daysLate);
  if (days > 0 && !results.has("researcher"))
    return { toolCalls: [{ name: "researcher", input: { task: `What does ${order.carrier} report about delays?` } }] };

  const policy = String(results.get("cave_skill") ?? "");
  const limit = Number(/More than (\d+) days late/.exec(policy)?.[1] ?? Number.POSITIVE_INFINITY);
  if (days > limit && !results.has("issue_refund"))
    return {
      toolCalls: [
        { name: "issue_refund", input: { orderId, amountCents: order.totalCents, reason: `${days} days late` } },
      ],
    };

  return {
    text: [
      `Order ${orderId} (${order.item}) is ${String(order.status).replace("_", " ")}${days > 0 ? `, ${days} days late` : ""}.`,
      ...(results.has("researcher")
        ? [`The carrier: ${String(fields(results.get("researcher")).text ?? "says nothing")}`]
        : []),
      ...(results.has("issue_refund")
        ? [refundSentence(results.get("issue_refund"))]
        : policy && days > 0
          ? [`A refund is due once it is more than ${limit} days late.`]
          : []),
    ].join(" "),
    chunks: 8,
  };
}

function refundSentence(result: unknown): string {
  const { refundId, amountCents } = fields(result);
  return refundId
    ? `I refunded $${(Number(amountCents) / 100).toFixed(2)} (${refundId}); keep the parcel if it arrives.`
    : `The refund did not go through: ${String(result)}`;
}

function researcher(request: Request): ScriptStep {
  const { asked, results } = read(request);
  const carrier = /What does (\S+) report/.exec(asked)?.[1] ?? "unknown";
  if (!results.has("search_notices")) return { toolCalls: [{ name: "search_notices", input: { carrier } }] };
  const { notices } = fields(results.get("search_notices"));
  return { text: Array.isArray(notices) && notices.length > 0 ? notices.join(" ") : `${carrier} reports no delays.` };
}

/** The newest question, and what each tool answered since. */
function read(request: Request): { asked: string; results: Map<string, unknown> } {
  let asked = "";
  const results = new Map<string, unknown>();
  for (const message of request.prompt) {
    if (message.role === "user") {
      asked = message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
      results.clear();
    } else if (message.role === "tool") {
      for (const part of message.content)
        if (part.type === "tool-result")
          results.set(part.toolName, "value" in part.output ? part.output.value : part.output.type);
    }
  }
  return { asked, results };
}

/** A tool's result as fields, whether it was sent as JSON or as its text. */
function fields(result: unknown): Readonly<Record<string, unknown>> {
  if (typeof result === "object" && result !== null) return { ...result };
  try {
    const value: unknown = JSON.parse(String(result));
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
