/** `caveman retrieve`: an original back from the store, byte for byte, or the parts of it that match a query. */
import { CavemanError } from "../../kernel/index.ts";
import { locate } from "./location.ts";
import { textOfOriginal } from "./original.ts";
import { select } from "./query.ts";
import { OriginalStore } from "./store.ts";

/** What a command is given to write to: payload to `out`, the report to `err`. */
interface Output {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

async function execute(args: Readonly<Record<string, unknown>>, output: Output): Promise<number> {
  const handle = typeof args.handle === "string" ? args.handle : "";
  const query = typeof args.query === "string" ? args.query.trim() : "";
  const store = new OriginalStore(locate());
  const original = store.get(handle);
  const size = `${original.bytes.length} bytes${original.contentType ? `, ${original.contentType}` : ""}`;
  if (query === "") {
    if (original.encoding === "utf-8") output.out(textOfOriginal(original, handle));
    else await writeBytes(original.bytes);
    const written = original.encoding === "utf-16le" ? ", written as UTF-16LE, since it is no valid Unicode" : "";
    output.err(`${handle}: ${size}, exact${written}\n`);
    return 0;
  }
  const text = textOfOriginal(original, handle);
  const selection = select(text, query);
  output.out(selection ? `${selection.text}\n` : text);
  output.err(
    selection
      ? `${handle}: ${selection.shown} of ${selection.of} units match, of ${size}; without --query it is exact\n`
      : `${handle}: ${size}, exact: no smaller part matches the query\n`,
  );
  return 0;
}

function writeBytes(bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) =>
    process.stdout.write(bytes, (error) =>
      error
        ? reject(new CavemanError("cave_recovery_store_unavailable", { place: "stdout", cause: error }))
        : resolve(),
    ),
  );
}

export const commands = {
  retrieve: {
    usage: "retrieve <handle>",
    describe: "Get an original back from the store by its handle",
    positionals: { handle: "A handle: ccr_ and 32 hex digits" },
    options: { query: { type: "string", describe: "Only the parts that match" } },
    execute,
  },
} as const;
