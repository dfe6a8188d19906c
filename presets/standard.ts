import type { Plugin } from "../kernel/index.ts";
import { bare } from "./bare.ts";

/** The default. */
export const standard = (): Plugin[] => bare();
