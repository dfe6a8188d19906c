/** Outputs of several parts: text is capped like any other, images and files pass up to a size. */
import type { ToolOutput } from "../../kernel/index.ts";
import { capText, exceeds } from "./cap.ts";

type Content = Extract<ToolOutput, { type: "content" }>;
type Part = Content["value"][number];
type FilePart = Extract<Part, { type: "file" }>;

/** Gives the output back as it is when nothing in it is too large. `cap` bounds all text together, `maxPartBytes` one file. */
export function capContent(output: Content, cap: number, maxPartBytes: number): Content {
  let room = cap;
  let changed = false;
  const value = output.value.map((part): Part => {
    if (part.type === "text") {
      const short = exceeds(part.text, room)
        ? capText(part.text, room, (gap) => `[${gap.bytes} of ${gap.total} bytes left out here]`)
        : part.text;
      room = Math.max(0, room - Buffer.byteLength(short));
      if (short === part.text) return part;
      changed = true;
      return { ...part, text: short };
    }
    if (part.type !== "file") return part;
    const bytes = bytesOf(part.data);
    if (bytes <= maxPartBytes) return part;
    changed = true;
    return { type: "text", text: `[${part.mediaType} of ${bytes} bytes left out: one part may have ${maxPartBytes}]` };
  });
  return changed ? { ...output, value } : output;
}

function bytesOf(data: FilePart["data"]): number {
  if (data.type === "text") return Buffer.byteLength(data.text);
  if (data.type !== "data") return 0;
  return typeof data.data === "string" ? Buffer.byteLength(data.data, "base64") : data.data.byteLength;
}
