/** The model of this example when there is no provider: reads the price, tries to change it, and reports what came back. */
import type { Script } from "caveman-agent/testing";

const script: Script = ({ prompt }) => {
  const results = new Map<string, { type: string; value: unknown }>();
  for (const message of prompt) {
    if (message.role === "user") results.clear();
    if (message.role !== "tool") continue;
    for (const part of message.content)
      if (part.type === "tool-result")
        results.set(part.toolName, { type: part.output.type, value: "value" in part.output ? part.output.value : "" });
  }
  const price = results.get("get_price");
  const change = results.get("set_price");
  if (!price) return { toolCalls: [{ name: "get_price", input: { article: "lamp" } }] };
  if (!change) return { toolCalls: [{ name: "set_price", input: { article: "lamp", cents: 7_900 } }] };
  return {
    text: change.type.startsWith("error")
      ? `The price was not changed. ${said(change.value)} It is still ${said(price.value)}.`
      : `Done: ${said(change.value)}.`,
  };
};
export default script;

const said = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
