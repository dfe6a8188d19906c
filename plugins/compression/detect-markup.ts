/** Tells HTML and XML from text that only mentions tags. */

const CONTAINER =
  /<(?:html|head|body|div|table|ul|ol|section|article|main|nav|header|footer|form|p|script|style)[\s>]/i;

/** Shares are of the sampled lines: Markdown and code carry tags of their own. */
export function isHtml(input: string, markdown: number, structure: number): boolean {
  const head = input.slice(0, 4_096);
  if (/^(?:\ufeff|\s)*(?:<!--[\s\S]{0,2000}?-->\s*)?<(?:!doctype html|html[\s>])/i.test(head)) return true;
  if (markdown > 0.1 || structure > 0.4) return false;
  const first = /^\s*<([a-zA-Z][\w-]*)/.exec(head)?.[1];
  if (first === undefined || !CONTAINER.test(head)) return false;
  let [tags, at] = [0, -1];
  const sample = input.slice(0, 16_384);
  while ((at = sample.indexOf("<", at + 1)) >= 0) tags++;
  return tags >= 6 && /<\/[a-zA-Z]/.test(sample);
}

/** A document of one root element that is closed at its end. */
export function isXml(input: string): boolean {
  const head = input.slice(0, 4_096);
  if (/^(?:\ufeff|\s)*<\?xml[\s?]/.test(head)) return !/<html[\s>]/i.test(head);
  const root = /^\s*<([A-Za-z_][\w:.-]*)(?=[\s>/])/.exec(head)?.[1];
  if (
    root === undefined ||
    /^(?:html|head|body|div|table|ul|ol|p|section|article|main|nav|header|footer|form|script|style|span|a|img|h[1-6]|file|details|picture|br)$/i.test(
      root,
    )
  )
    return false;
  const tail = input.slice(-512).trimEnd();
  return tail.endsWith(`</${root}>`) && (input.match(/<\/?[A-Za-z_]/g)?.length ?? 0) >= 6;
}
