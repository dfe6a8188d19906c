import type { Plugin } from "../kernel/index.ts";
import { providers, receipt } from "../plugins/index.ts";

/** The least: models and a receipt. No guard of any kind. */
export const bare = (): Plugin[] => [providers(), receipt()];
