/** Tokens of a text when no tokenizer is at hand: on the high side, so that a budget holds. Modelled, never exact. */
export function estimatedTokens(text: string): number {
  let thirds = 0;
  for (const sign of text) {
    const point = sign.codePointAt(0) ?? 0;
    if (point > 0xffff) thirds += 9;
    else if (point > 0x7f) thirds += 3;
    else if ((point >= 0x61 && point <= 0x7a) || point === 0x20) thirds += 1;
    else thirds += 2;
  }
  return Math.ceil(thirds / 3);
}
