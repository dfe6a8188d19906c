/** Inputs of about a megabyte for the text tools, from a seed: the shapes of what tools give, not of random bytes. */

export type PayloadName =
  | "log"
  | "json"
  | "code"
  | "prose"
  | "yaml"
  | "terminal"
  | "search"
  | "text"
  | "diff"
  | "markdown"
  | "identifiers";

const WORDS =
  "the system keeps a record of each request before it is sent and the reader finds what was left out by its handle when a service answers late the queue grows until another worker takes it over which costs nothing while memory lasts and so on every table has an owner who may change its columns after review because nobody else depends on them yet".split(
    " ",
  );

/** A generator of equal sequences for equal seeds. */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed >>> 0 || 1;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 4_294_967_296) * below);
  };
}

/** Lines until there are at least so many characters. */
function lines(size: number, line: (index: number) => string): string {
  const out: string[] = [];
  for (let length = 0, index = 0; length < size; index++) {
    const next = line(index);
    out.push(next);
    length += next.length + 1;
  }
  return out.join("\n");
}

export function payload(name: PayloadName, size = 1_000_000, seed = 7): string {
  const random = randomFrom(seed);
  const hex = (digits: number): string => Array.from({ length: digits }, () => random(16).toString(16)).join("");
  const sentence = (): string => {
    const words = Array.from({ length: 9 + random(9) }, () => WORDS[random(WORDS.length)] ?? "");
    return `${words.join(" ").replace(/^./, (first) => first.toUpperCase())}.`;
  };
  const stamp = (index: number): string => new Date(1_790_000_000_000 + index * 137).toISOString();
  const pad = (value: number, width: number): string => String(value).padStart(width, "0");
  const makers: Record<PayloadName, () => string> = {
    log: () =>
      lines(size, (i) =>
        i % 911 === 910
          ? `${stamp(i)} ERROR [worker-${random(8)}] request ${hex(8)} failed: upstream ${random(4)} refused the connection`
          : `${stamp(i)} INFO  [worker-${random(8)}] request ${hex(8)} handled in ${random(90)} ms path=/api/v1/items/${random(9_000)} status=200`,
      ),
    json: () => {
      const items: string[] = [];
      for (let length = 0; length < size; ) {
        const i = items.length;
        const item = JSON.stringify(
          {
            id: i,
            name: `item ${hex(4)}`,
            status: random(9) ? "active" : "archived",
            price: { amount: random(9_000) / 100, currency: "EUR" },
            tags: ["new", "sale"].slice(random(2)),
            updatedAt: stamp(i),
          },
          undefined,
          2,
        );
        items.push(item);
        length += item.length + 2;
      }
      return `[\n${items.join(",\n")}\n]`;
    },
    code: () =>
      lines(size / 9, (i) =>
        [
          `/** ${sentence()} */`,
          `export async function handle${pad(i, 4)}(input: Request, limit = ${random(100)}): Promise<Response> {`,
          `  const found = await store.find(input.id, { limit, after: input.cursor });`,
          `  if (found.length === 0) {`,
          `    return respond(404, { code: "not_here", id: input.id });`,
          "  }",
          `  for (const row of found) total += row.amount * ${random(10)};`,
          `  return respond(200, { rows: found, total, next: found.at(-1)?.id });`,
          "}",
          "",
        ].join("\n"),
      ).repeat(9),
    prose: () => lines(size, (i) => (i % 6 === 5 ? "" : `${sentence()} ${sentence()}`)),
    text: () =>
      lines(size, (i) =>
        i % 3 === 2
          ? ""
          : `Step ${i} of the nightly transfer copied ${random(90_000)} rows to shard ${random(16)} in ${random(900)} seconds.`,
      ),
    yaml: () =>
      lines(size, (i) =>
        [
          `service-${pad(i, 5)}:`,
          `  image: registry/team/app-${random(40)}:${random(9)}.${random(20)}.${random(9)}`,
          `  replicas: ${random(9)}`,
          "  env:",
          `    - name: LEVEL\n      value: "info"`,
          `    - name: PORT\n      value: "${8_000 + random(900)}"`,
        ].join("\n"),
      ),
    terminal: () =>
      lines(size, (i) =>
        i % 40 === 39
          ? `\u001b[2K\r\u001b[32m✔\u001b[0m built chunk ${i} in \u001b[1m${random(900)} ms\u001b[22m`
          : `\u001b[90m[${pad(random(24), 2)}:${pad(random(60), 2)}:${pad(random(60), 2)}]\u001b[39m \u001b[36mbuild\u001b[39m compiled src/modules/part-${random(900)}/index.ts \u001b[2m${random(300)} ms\u001b[22m`,
      ),
    search: () =>
      lines(
        size,
        (i) =>
          `src/modules/part-${pad(Math.floor(i / 40), 4)}/view.ts:${1 + (i % 40) * 7}:  const total = computeTotal(rows, ${random(90)});`,
      ),
    diff: () =>
      lines(size, (i) =>
        [
          `diff --git a/src/part-${i}.ts b/src/part-${i}.ts`,
          `index ${hex(7)}..${hex(7)} 100644`,
          `--- a/src/part-${i}.ts`,
          `+++ b/src/part-${i}.ts`,
          `@@ -${1 + random(90)},14 +${1 + random(90)},14 @@ export function part${i}()`,
          ...Array.from({ length: 12 }, (_, n) => `   const kept${n} = read(${random(90)});`),
          `-  return before(${random(90)});`,
          `+  return after(${random(90)});`,
          ...Array.from({ length: 12 }, (_, n) => `   const kept${n} = read(${random(90)});`),
        ].join("\n"),
      ),
    markdown: () =>
      lines(size, (i) =>
        [
          `## Part ${i}`,
          "",
          `${sentence()} See [the guide](./guide-${i}.md).`,
          "",
          "```sh",
          `run --part ${i}`,
          "```",
          "",
          `- ${sentence()}`,
          "",
        ].join("\n"),
      ),
    identifiers: () => lines(size, () => Array.from({ length: 4 }, () => hex(32)).join(" ")),
  };
  return makers[name]();
}
