import type { Plugin } from "../kernel/index.ts";
import { breakers, budget, limits, pricing, retry, subagents } from "../plugins/index.ts";
import { bare } from "./bare.ts";

/** The default: what `bare` has, priced, metered, bounded, watched for loops, and retried where that costs nothing twice. */
export const standard = (): Plugin[] => [...bare(), pricing(), budget(), limits(), subagents(), breakers(), retry()];
