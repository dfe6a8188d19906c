/** `caveman explain`: the error table. */
import { errorCodes, errorRow, nearest } from "../../kernel/errors.ts";
import { type Args, EXIT, text } from "../command.ts";
import { usage } from "../errors.ts";
import { table } from "../render/table.ts";
import type { Terminal } from "../render/terminal.ts";

export async function execute(args: Args, terminal: Terminal): Promise<number> {
  await import("../../index.ts"); // every part declares its rows when it loads
  await import("../../plugins/index.ts");
  await import("../../plugins/testing.ts");
  const code = text(args, "code");
  const codes = errorCodes();
  if (code === undefined) {
    const rows = codes.map((known) => ({ code: known, ...errorRow(known) }));
    terminal.out(
      args.json ? `${JSON.stringify(rows, null, 2)}\n` : table(rows.map((row) => [row.code, row.meaning ?? ""])),
    );
    return EXIT.done;
  }
  const row = errorRow(code);
  if (!row) {
    const meant = nearest(code, codes) ?? codes.find((known) => known.includes(code));
    throw usage(
      `No error has the code "${code}"${meant ? `, did you mean "${meant}"?` : ""}`,
      "Run caveman explain to list all codes.",
    );
  }
  terminal.out(
    args.json ? `${JSON.stringify({ code, ...row }, null, 2)}\n` : `${code}\n  ${row.meaning}\n  → ${row.remedy}\n`,
  );
  return EXIT.done;
}
