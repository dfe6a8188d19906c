/**
 * receipt: what a run did and cost, as one closed JSON document folded from its ledger. Taps `settle` last; owns
 * `printReceipt`, the service `Receipts` and the files under `.caveman/runs`.
 */
import { Type } from "@sinclair/typebox";
import { asCaveman, definePlugin, type Run } from "../../kernel/index.ts";
import { Receipts } from "../services.ts";
import { type Foldable, type Folded, fold } from "./fold.ts";
import { renderReceipt } from "./render.ts";
import type { Receipt } from "./schema.ts";
import { writeReceipt } from "./write.ts";

declare module "../../kernel/contract.ts" {
  interface RunOptions {
    /** Writes the receipt and prints it to standard output when the run ends. Default: false. */
    printReceipt?: boolean;
  }
}

const Options = Type.Object({
  dir: Type.String({
    default: ".caveman/runs",
    minLength: 1,
    description: "Folder for receipts, from the run's rootDir.",
  }),
  write: Type.Boolean({ default: false, description: "Write a receipt for every root run, printed or not." }),
});

export const receipt = definePlugin({
  name: "receipt",
  description: "What a run did and cost, folded from its ledger.",
  options: Options,
  runOptions: Type.Object({
    printReceipt: Type.Optional(
      Type.Boolean({ default: false, description: "Write the receipt and print it when the run ends." }),
    ),
  }),
  errors: {
    cave_receipt_unwritable: {
      meaning: "The receipt could not be written.",
      remedy: "Make the folder writable or set the receipt plugin's dir; the run itself is not affected.",
    },
  },
  apply(kernel, options) {
    const madeOf = kernel.perRun((): { folded?: Folded } => ({}));
    // A guard that fails in the receipt stage changes how the run ended after its receipt was made; that one is made again.
    const known = (run: Foldable): Folded | undefined => {
      const { folded } = madeOf(run as Run);
      return folded?.receipt.stopReason === run.outcome?.stopReason ? folded : undefined;
    };
    const receiptOf = (run: Run): Receipt => (known(run) ?? fold(run, known)).receipt;
    kernel.provide(Receipts, () => ({ receiptOf }));

    kernel.hooks.settle.tap({ name: "receipt:write", stage: "receipt" }, ({ run, outcome }) => {
      const folded = fold(run, known);
      madeOf(run).folded = folded;
      // A child's receipt is part of its root's.
      if (run.parent === undefined && (run.options.printReceipt || options.write))
        return hand(run, folded.receipt, options.dir, outcome.startedAt);
    });
  },
});

/** Writes the receipt, and prints it when the run asked for it. A failure to write is a notice. */
async function hand(run: Run, built: Receipt, dir: string, at: number): Promise<void> {
  let path: string | undefined;
  try {
    path = await writeReceipt(built, { rootDir: run.options.rootDir ?? process.cwd(), dir, at });
  } catch (error) {
    const coded = asCaveman(error, "cave_receipt_unwritable");
    run.notice("receipt", coded.code, coded.message);
  }
  if (!run.options.printReceipt) return;
  const { columns } = process.stdout;
  process.stdout.write(
    renderReceipt(built, { color: colored(), ...(columns ? { width: columns } : {}), ...(path ? { path } : {}) }),
  );
}

/** Color for a terminal, unless its owner said otherwise. */
const colored = (): boolean =>
  process.env.FORCE_COLOR ? process.env.FORCE_COLOR !== "0" : process.stdout.isTTY === true && !process.env.NO_COLOR;

export { usdOf } from "./amounts.ts";
export { type Detail, detailsIn } from "./details.ts";
export { type Foldable, foldReceipt } from "./fold.ts";
export { type RenderOptions, renderReceipt } from "./render.ts";
export {
  RECEIPT_SCHEMA,
  type Receipt,
  type ReceiptBreaker,
  type ReceiptCall,
  type ReceiptCompaction,
  type ReceiptResume,
  type ReceiptTool,
  receiptSchema,
  receiptSchemaText,
  UNDECLARED,
} from "./schema.ts";
