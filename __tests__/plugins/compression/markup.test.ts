/** Pages and documents: everything a reader sees stays, everything that goes is counted. */
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { html } from "../../../plugins/compression/markup/html.ts";
import { decoded, piecesOf } from "../../../plugins/compression/markup/tags.ts";
import { xml } from "../../../plugins/compression/markup/xml.ts";
import { markup } from "./corpus/markup.ts";
import { counted, shorter, view } from "./parts.ts";

const page = (body: string): string =>
  `<!doctype html><html><head><title>Quay</title><script>track("${"x".repeat(200)}")</script></head><body>${body}</body></html>`;
const read = async (body: string): Promise<string> => (await shorter(html, page(body))).text;

describe("a page", () => {
  test("does not shrink to its hero: all of its paragraphs are there", async () => {
    const paragraphs = Array.from(
      { length: 30 },
      (_, i) => `<div class="card"><p>Paragraph ${i} about quay ${i * 7}.</p></div>`,
    );
    const text = await read(
      `<section class="hero"><h1>The hero</h1><p>${"A long claim. ".repeat(40)}</p></section>${paragraphs.join("")}`,
    );
    for (let i = 0; i < 30; i++) expect(text).toContain(`Paragraph ${i} about quay ${i * 7}.`);
  });

  test("keeps headings, lists, links, quotes, code and tables as Markdown has them", async () => {
    const text = await read(
      `<h2>Rates &amp; dues</h2><p>See <a href="/rates">the list</a>, or run <code>quote()</code>.</p><ol><li>one<ul><li>inner</li></ul></li><li>two</li></ol><blockquote><p>Wait.</p></blockquote><pre class="language-sh">a &lt; b\n  indented</pre><table><tr><th>n</th><th>v</th></tr><tr><td>x</td><td>1|2</td></tr></table>`,
    );
    for (const line of [
      "## Rates & dues",
      "See [the list](/rates), or run `quote()`.",
      "- one",
      "  - inner",
      "- two",
      "> Wait.",
      "```sh\na < b\n  indented\n```",
      "| n | v |\n|---|---|\n| x | 1\\|2 |",
    ])
      expect(text).toContain(line);
  });

  test("names what it leaves out, with how much", async () => {
    const nav = `<nav>${Array.from({ length: 20 }, (_, i) => `<a href="/${i}">Page ${i}</a>`).join(" ")}</nav>`;
    const text = await read(
      `${nav}<p>${"Content. ".repeat(20)}</p><div class="cookie-banner"><p>We use cookies.</p></div><div hidden>Hidden words</div>`,
    );
    expect(text).toContain("… 20 navigation links elided (caveman): Page 0, Page 1, Page 2 … Page 19 …");
    expect(text).toContain("… 1 banner elided (caveman): 15 characters, We use cookies. …");
    expect(text).toContain("… 1 hidden part elided (caveman): 12 characters, Hidden words …");
    expect(text).toMatch(/… \d+ scripts, styles and comments elided \(caveman\): \d+ characters …/);
  });

  test("that is all chrome by its names keeps its text", async () => {
    const text = await read(
      `<div class="sidebar menu">${Array.from({ length: 20 }, (_, i) => `<p>Sentence ${i} with a <a href="/${i}">link of some length in it</a>.</p>`).join("")}</div>`,
    );
    for (let i = 0; i < 20; i++) expect(text).toContain(`Sentence ${i} with a`);
  });

  test("counts what it drops, on every page of the corpus", async () => {
    for (const input of markup()) {
      if (input.type !== "html" || !input.compressible) continue;
      const { text, dropped } = await shorter(html, input.text);
      expect(counted(text.replaceAll(", styles and comments", ""))).toBe(dropped);
    }
  });
});

const word = fc.stringMatching(/^[a-z]{3,9}$/);
const block = fc.oneof(
  fc
    .array(word, { minLength: 1, maxLength: 8 })
    .map((words) => ({ words, text: `<p class="body">${words.join(" ")}</p>` })),
  fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => ({ words, text: `<h2>${words.join(" ")}</h2>` })),
  fc
    .array(word, { minLength: 1, maxLength: 5 })
    .map((words) => ({ words, text: `<ul>${words.map((one) => `<li>${one}`).join("")}</ul>` })),
  fc
    .array(word, { minLength: 1, maxLength: 5 })
    .map((words) => ({ words, text: `<div><div>${words.map((one) => `<span>${one}</span> `).join("")}</div></div>` })),
  fc
    .array(word, { minLength: 2, maxLength: 6 })
    .map((words) => ({ words, text: `<table><tr>${words.map((one) => `<td>${one}</td>`).join("")}</tr></table>` })),
);

describe("for any page", () => {
  test("every word of its body is in the view", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(block, { minLength: 3, maxLength: 20 }), async (blocks) => {
        const text = await read(blocks.map((one) => one.text).join("\n"));
        for (const { words } of blocks) for (const one of words) expect(text).toContain(one);
      }),
      { numRuns: 80 },
    );
  });

  test("the pieces of any text are the text", () => {
    const soup = fc.array(
      fc.oneof(
        fc.constantFrom(
          "<",
          ">",
          "</",
          "<!--",
          "-->",
          '"',
          "=",
          "'",
          "<p",
          "<script>",
          "</script>",
          "<![CDATA[",
          "]]>",
          "<?",
          "a",
          " ",
          '<a href="x>y">',
        ),
        fc.string({ maxLength: 6 }),
      ),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(soup, fc.constantFrom("html" as const, "xml" as const), (parts, dialect) => {
        const source = parts.join("");
        let at = 0;
        for (const piece of piecesOf(source, dialect)) {
          expect(piece.start).toBe(at);
          expect(piece.end).toBeGreaterThan(piece.start);
          at = piece.end;
        }
        expect(at).toBe(source.length);
      }),
      { numRuns: 400 },
    );
  });
});

describe("hostile markup", () => {
  const moment = async (source: string): Promise<void> => {
    await view(html, source);
    await view(xml, source);
  };
  test.each([
    ["open elements, thirty thousand deep", "<div>".repeat(30_000)],
    ["tags that never end", '<a href="x '.repeat(20_000)],
    ["comments that never end", "<!-- ".repeat(20_000)],
    ["closing tags of nothing", "</b>".repeat(30_000)],
    ["scripts that never end", "<script>".repeat(20_000)],
    ["quotes without end", "<p a='".repeat(20_000)],
    ["items in items", "<li>x".repeat(20_000)],
    ["tables in tables", "<table><tr><td>".repeat(8_000)],
    ["spans in spans", "<span>".repeat(20_000)],
    ["entities", "&#x41;&nosuch;&amp".repeat(30_000)],
  ])(
    "%s",
    async (_name, source) => {
      await moment(source);
    },
    10_000,
  );

  test("entities are read once, and unknown ones stay", () => {
    expect(decoded("&amp;lt; &#65;&#x1F600; &nosuch; &#xD800; &#0;")).toBe("&lt; A😀 &nosuch; &#xD800; &#0;");
  });
});

describe("a document", () => {
  const items = (count: number, item: (i: number) => string): string =>
    `<?xml version="1.0"?>\n<list total="${count}">\n${Array.from({ length: count }, (_, i) => `  ${item(i)}`).join("\n")}\n</list>\n`;

  test("keeps the first, the last, errors and extremes of its siblings, and states the rest", async () => {
    const { text, dropped } = await shorter(
      xml,
      items(
        200,
        (i) => `<item id="${i}" size="${i === 90 ? 9000 : (i * 7) % 50}" state="${i === 120 ? "failed" : "ok"}"/>`,
      ),
    );
    expect(text).toContain('<list total="200">');
    for (const id of [0, 1, 2, 90, 120, 198, 199]) expect(text).toContain(`<item id="${id}"`);
    expect(text).toMatch(/<!-- … \d+ item elements elided \(caveman\): .*all state=ok.* -->/);
    expect(counted(text)).toBe(dropped);
  });

  test("shortens siblings within siblings that stay", async () => {
    const inner = Array.from({ length: 80 }, (_, i) => `<line number="${i}" hits="1"/>`).join("");
    const { text } = await shorter(
      xml,
      items(3, (i) => `<class name="C${i}"><lines>${inner}</lines></class>`),
    );
    expect(text.match(/<class name/g)).toHaveLength(3);
    expect(text.match(/line elements elided/g)).toHaveLength(3);
  });

  test("that is not well formed, or mixes text with elements, passes through", async () => {
    expect(await view(xml, "<a><b></a>".repeat(30))).toBeUndefined();
    expect(await view(xml, `<p>${"word <b>bold</b> ".repeat(40)}</p>`)).toBeUndefined();
  });

  test("stays well formed", async () => {
    for (const input of markup()) {
      if (input.type !== "xml" || !input.compressible) continue;
      const { text } = await shorter(xml, input.text);
      const open: string[] = [];
      for (const piece of piecesOf(text, "xml")) {
        if (piece.kind === "open" && !piece.empty) open.push(piece.name);
        if (piece.kind === "close") expect(open.pop()).toBe(piece.name);
      }
      expect(open).toEqual([]);
    }
  });
});
