import type { Plugin } from "../kernel/index.ts";
import { budget, limits, pricing, subagents } from "../plugins/index.ts";
import { bare } from "./bare.ts";

/** The default: what `bare` has, priced, metered and bounded. */
export const standard = (): Plugin[] => [...bare(), pricing(), budget(), limits(), subagents()];
