/** What stands in the place of a cleared result: what it was, and how to read it again. */
import { sha256 } from "../../kernel/index.ts";
import { carriedHandles } from "./carried-handles.ts";
import { type ToolResult, textOfResult } from "./occurrences.ts";

const START = "<<cave_cleared ";
/** How to read a cleared result again: a call that pages it back, or the tool itself. */
export type PageBack = { readonly call: string } | { readonly again: string };

/** Bytes that any marker stays below; a result no longer than this is not worth clearing. */
export const MARKER_BYTES = 512;

/** The marker of a result, with the handles the result carried. The same result and way back give the same bytes. */
export function markerOf(result: ToolResult, way: PageBack): string {
  const text = textOfResult(result);
  const head = `${START}tool=${result.toolName} bytes=${Buffer.byteLength(text)} sha256=${sha256(text)}>>`;
  const back = "call" in way ? `Read it back whole with ${way.call}.` : `Call ${way.again} again if you need it.`;
  return `${head} This result was cleared to make room. ${back}${carriedHandles(text).words}`;
}

/** Whether a text is a marker; also one that compaction left. Such a text is never cleared or stored again. */
export const isMarker = (text: string): boolean => /^<<cave_(?:cleared|elided) [^\n]{0,400}?>>/.test(text);
