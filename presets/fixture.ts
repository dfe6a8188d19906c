import type { Plugin } from "../kernel/index.ts";
import { standard } from "./standard.ts";

/** For tests: everything the default has, on a scripted model. */
export const fixture = (): Plugin[] => standard();
