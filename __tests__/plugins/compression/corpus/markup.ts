/** Pages and documents. */
import { Chance, CITIES, ENTITIES, moment, SERVICES, times, VERBS } from "./chance.ts";
import type { CorpusInput } from "./input.ts";

const head = (title: string, c: Chance): string => `<!doctype html>
<html lang="en" class="no-js"><head><meta charset="utf-8"><title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="/assets/site.${c.hex(8)}.css">
<style>${times(90, () => `.${c.words(1)}-${c.hex(4)}{margin:${c.whole(0, 40)}px ${c.whole(0, 40)}px;color:#${c.hex(6)};display:flex}`).join("")}</style>
<script>window.__STATE__=${JSON.stringify(times(60, () => ({ id: c.hex(12), kind: c.of(SERVICES), flag: c.chance(0.5), score: c.whole(1, 999) })))};</script>
<script async src="https://cdn.example/tag.js?id=${c.hex(10)}"></script></head>`;
const menu = (c: Chance, count: number): string =>
  `<nav class="main-nav" aria-label="Main"><ul class="menu">${times(count, () => `<li class="menu__item menu__item--${c.hex(4)}"><a class="menu__link" data-track="${c.hex(8)}" href="/${c.of(SERVICES)}/${c.words(2).replace(" ", "-")}">${c.of(VERBS)} ${c.words(1)}</a></li>`).join("")}</ul></nav>`;
const foot = (
  c: Chance,
): string => `<footer class="site-footer"><div class="grid">${times(36, () => `<a class="foot-link" href="/${c.words(2).replace(" ", "/")}">${c.words(2)}</a>`).join("\n")}</div></footer>
<div id="cookie-consent" class="cookie-banner" role="dialog"><p>We use cookies to remember your basket.</p><button class="btn btn--${c.hex(4)}">Accept all</button></div>
<script>${times(120, () => `function ${c.of(VERBS)}_${c.hex(4)}(a,b){return a.${c.words(1)}+b[${c.whole(0, 9)}]||"${c.hex(12)}"}`).join("")}</script></body></html>`;

function article(): CorpusInput {
  const c = new Chance(71);
  const paragraphs = times(
    14,
    (i) =>
      `<p class="body__p body__p--${c.hex(4)}" data-block="${c.uuid()}">${c.sentence(14, 26)} <a href="https://ports.example/${i}" rel="noopener" class="link link--inline">${c.words(2)}</a> ${c.sentence(10, 20)}</p>`,
  );
  const text = `${head("Why the harbour of Gdansk moved its tariff desk", c)}<body class="page page--article">${menu(c, 40)}
<div class="hero"><h1 class="hero__title">Why the harbour of Gdansk moved its tariff desk</h1><p class="hero__lead">Three clerks, one ledger, and a week that cost 41,800 euros.</p></div>
<main><article class="story">${paragraphs.slice(0, 6).join("\n")}<h2 id="numbers" class="h2">The numbers</h2><table class="tbl"><thead><tr><th>Quay</th><th>Before</th><th>After</th></tr></thead><tbody><tr><td>North</td><td>118</td><td>74</td></tr><tr><td>South</td><td>96</td><td>101</td></tr></tbody></table>${paragraphs.slice(6).join("\n")}
<blockquote><p>Nobody asked the pilots, and the pilots knew.</p></blockquote><pre><code class="language-sh">tariffctl rebuild --quay north --since 2026-03</code></pre></article></main>${foot(c)}`;
  return {
    name: "article.html",
    type: "html",
    compressible: true,
    text,
    visible: [
      "# Why the harbour of Gdansk moved its tariff desk",
      "cost 41,800 euros",
      "The numbers",
      "| North | 118 | 74 |",
      "Nobody asked the pilots",
      "tariffctl rebuild --quay north --since 2026-03",
      "https://ports.example/13",
      /navigation links elided \(caveman\)/,
      /scripts, styles and comments elided \(caveman\)/,
    ],
    recoverable: ["window.__STATE__", "We use cookies to remember your basket."],
  };
}

function docs(): CorpusInput {
  const c = new Chance(72);
  const sections = times(
    9,
    (i) =>
      `<section id="s${i}" class="doc-section"><h2 class="anchor-h">${i === 4 ? "Rate limits" : `The ${c.words(2)} option`}<a class="anchor" href="#s${i}" aria-hidden="true">#</a></h2><p class="doc-p">${i === 4 ? "A key may send 600 requests a minute; above that the answer is <code>429</code> with <code>Retry-After</code>." : c.sentence(16, 26)}</p><div class="highlight"><pre class="chroma"><code class="language-ts"><span class="k">const</span> <span class="nx">client${i}</span> <span class="o">=</span> <span class="nf">connect</span><span class="p">({</span> <span class="nx">retries</span><span class="p">:</span> <span class="mi">${i}</span> <span class="p">});</span></code></pre></div></section>`,
  );
  const text = `${head("Client options", c)}<body><header class="top"><a class="logo" href="/">Docs</a>${menu(c, 14)}</header><div class="layout"><aside class="sidebar" id="sidebar">${menu(c, 130)}</aside><main class="content"><h1>Client options</h1>${sections.join("\n")}</main></div>${foot(c)}`;
  return {
    name: "docs-page.html",
    type: "html",
    compressible: true,
    text,
    visible: [
      "# Client options",
      "## Rate limits",
      "600 requests a minute",
      "`429`",
      "const client3 = connect({ retries: 3 });",
      "const client8",
    ],
    recoverable: ["chroma"],
  };
}

function results(): CorpusInput {
  const c = new Chance(73);
  const cards = times(
    48,
    (i) =>
      `<li class="card card--${c.hex(5)}" data-id="${c.uuid()}"><a class="card__link" href="/p/${1000 + i}"><img class="card__img" src="data:image/gif;base64,${c.base64(180)}" alt=""><h3 class="card__title">${c.of(CITIES)} ${c.of(["lamp", "chair", "shelf", "rug"])} ${i}</h3><span class="price price--now">${i === 30 ? "9,999.00" : c.about(80, 50).toFixed(2)} EUR</span><span class="stock stock--${c.hex(3)}">${i === 17 ? "sold out" : "in stock"}</span></a></li>`,
  );
  const text = `${head("Lamps and chairs", c)}<body>${menu(c, 60)}<main><h1>48 things</h1><ul class="cards">${cards.join("\n")}</ul></main>${foot(c)}`;
  return {
    name: "shop-listing.html",
    type: "html",
    compressible: true,
    text,
    visible: ["48 things", "sold out", "9,999.00 EUR", "/p/1047"],
    recoverable: ["data:image/gif;base64"],
  };
}

function statusPage(): CorpusInput {
  const c = new Chance(74);
  const rows = times(
    140,
    (i) =>
      `<tr class="row row--${c.hex(4)}"><td class="cell">${c.of(SERVICES)}-${i}</td><td class="cell">${c.of(CITIES)}</td><td class="cell cell--${c.hex(3)}"><span class="dot"></span>${i === 88 ? "failed" : "ok"}</td><td class="cell num">${i === 41 ? 12000 : c.whole(20, 240)}</td></tr>`,
  );
  const text = `${head("Checks", c)}<body>${menu(c, 12)}<h1>Checks</h1><table class="checks"><tr><th>check</th><th>region</th><th>state</th><th>millis</th></tr>${rows.join("\n")}</table>${foot(c)}`;
  return {
    name: "status-table.html",
    type: "html",
    compressible: true,
    text,
    visible: ["| check | region | state | millis |", "failed", "12000", /rows elided \(caveman\)/],
    recoverable: [rows[50] as string],
  };
}

function bareProse(): CorpusInput {
  const c = new Chance(75);
  const paragraphs = times(12, () => `<p>${c.sentence(20, 40)} ${c.sentence(20, 40)}</p>`);
  return {
    name: "plain-essay.html",
    type: "html",
    compressible: false,
    why: "prose with hardly any markup",
    text: `<!doctype html><html><body><h1>An essay</h1>\n${paragraphs.join("\n")}</body></html>`,
    visible: ["An essay", (paragraphs[11] as string).slice(3, 40)],
    recoverable: [],
  };
}

function coverage(): CorpusInput {
  const c = new Chance(76);
  const classes = times(
    8,
    (k) =>
      `    <class name="${c.of(ENTITIES)}${k}" filename="src/${c.of(SERVICES)}/${k}.py" line-rate="0.${c.whole(60, 99)}" complexity="0">\n      <lines>\n${times(90, (i) => `        <line number="${i + 1}" hits="${k === 3 && i === 44 ? 0 : c.whole(1, 3)}"/>`).join("\n")}\n      </lines>\n    </class>`,
  );
  return {
    name: "coverage.xml",
    type: "xml",
    compressible: true,
    text: `<?xml version="1.0" ?>\n<coverage version="7.6" line-rate="0.8723" lines-covered="628" lines-valid="720">\n  <packages>\n   <package name="shop">\n   <classes>\n${classes.join("\n")}\n   </classes>\n   </package>\n  </packages>\n</coverage>\n`,
    visible: ['line-rate="0.8723"', '<line number="45" hits="0"/>', "src/"],
    recoverable: ['<line number="60"'],
  };
}

function sitemap(): CorpusInput {
  const c = new Chance(77);
  const urls = times(
    240,
    (i) =>
      `  <url>\n    <loc>https://shop.example/${c.of(CITIES).toLowerCase()}/${i}</loc>\n    <lastmod>${moment(i * 8.64e7).slice(0, 10)}</lastmod>\n    <changefreq>${i === 120 ? "never" : "weekly"}</changefreq>\n    <priority>${i === 121 ? "1.0" : "0.5"}</priority>\n  </url>`,
  );
  return {
    name: "sitemap.xml",
    type: "xml",
    compressible: true,
    text: `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://sitemap.example/0.9">\n${urls.join("\n")}\n</urlset>\n`,
    visible: ["never", "1.0", "<urlset"],
    recoverable: [urls[60] as string],
  };
}

function orderMessages(): CorpusInput {
  const c = new Chance(78);
  const orders = times(
    130,
    (i) =>
      `    <ord:Order id="${9000 + i}" state="${i === 64 ? "REJECTED" : "ACCEPTED"}"><ord:Customer>${c.person()}</ord:Customer><ord:City>${c.of(CITIES)}</ord:City><ord:Amount currency="EUR">${i === 101 ? "77000.10" : c.about(90, 60).toFixed(2)}</ord:Amount>${i === 64 ? "<ord:Fault><ord:Code>E-1042</ord:Code><ord:Text>Credit limit exceeded</ord:Text></ord:Fault>" : ""}</ord:Order>`,
  );
  return {
    name: "soap-orders.xml",
    type: "xml",
    compressible: true,
    text: `<soap:Envelope xmlns:soap="http://soap.example/envelope" xmlns:ord="urn:orders">\n  <soap:Body>\n   <ord:Orders count="130">\n${orders.join("\n")}\n   </ord:Orders>\n  </soap:Body>\n</soap:Envelope>\n`,
    visible: ["Credit limit exceeded", "E-1042", "77000.10", 'count="130"', 'id="9000"', 'id="9129"'],
    recoverable: ['id="9050"', 'id="9110"'],
  };
}

function pom(): CorpusInput {
  const c = new Chance(79);
  const dependencies = times(
    9,
    () =>
      `    <dependency>\n      <groupId>com.acme.${c.of(SERVICES)}</groupId>\n      <artifactId>${c.words(2).replace(" ", "-")}</artifactId>\n      <version>${c.whole(1, 9)}.${c.whole(0, 20)}</version>\n    </dependency>`,
  );
  return {
    name: "pom.xml",
    type: "xml",
    compressible: false,
    why: "small, and every entry is its own",
    text: `<?xml version="1.0"?>\n<project>\n  <modelVersion>4.0.0</modelVersion>\n  <artifactId>shop</artifactId>\n  <dependencies>\n${dependencies.join("\n")}\n  </dependencies>\n</project>\n`,
    visible: ["<artifactId>shop</artifactId>", dependencies[5] as string],
    recoverable: [],
  };
}

export const markup = (): CorpusInput[] => [
  article(),
  docs(),
  results(),
  statusPage(),
  bareProse(),
  coverage(),
  sitemap(),
  orderMessages(),
  pom(),
];
