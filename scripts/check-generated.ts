/** Fails when a generated file is not what its generator makes now: the catalog, the config schema, the receipt schema. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { checkFresh } from "../catalog/generate.ts";
import { receiptSchemaText } from "../plugins/receipt/index.ts";

const stale = await checkFresh();
if ((await readFile("plugins/receipt/receipt.schema.json", "utf8")) !== receiptSchemaText())
  stale.push("plugins/receipt/receipt.schema.json");
const config = promisify(execFile)(process.execPath, [
  ...process.execArgv,
  "scripts/generate-config-schema.ts",
  "--check",
]);
await config.catch((error: { stderr?: string; stdout?: string }) =>
  stale.push(`caveman.config.schema.json ${error.stderr ?? error.stdout ?? ""}`),
);
for (const name of stale) console.error(`stale: ${name}`);
process.exitCode = stale.length > 0 ? 1 : 0;
