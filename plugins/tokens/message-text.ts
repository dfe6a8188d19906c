/** The text of a message that a model reads as tokens: no framing, no bytes of files, whose price is the provider's own. */
import { type ModelMessage, textOf } from "../../kernel/index.ts";

export function messageText({ content }: ModelMessage): string {
  if (typeof content === "string") return content;
  const texts: string[] = [];
  for (const part of content) {
    switch (part.type) {
      case "text":
      case "reasoning":
        texts.push(part.text);
        break;
      case "tool-call":
        texts.push(part.toolName, typeof part.input === "string" ? part.input : (JSON.stringify(part.input) ?? ""));
        break;
      case "tool-result":
        if (part.output.type !== "content") texts.push(textOf(part.output));
        else for (const item of part.output.value) if (item.type === "text") texts.push(item.text);
        break;
      default:
    }
  }
  return texts.join("\n");
}
