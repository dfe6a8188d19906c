import type { Plugin } from "../kernel/index.ts";
import { sandbox } from "../plugins/index.ts";
import { standard } from "./standard.ts";

/** For tests: everything the default has, with the tools of contained agents in this process and their writes blocked. */
export const fixture = (): Plugin[] =>
  standard().map((plugin) => (plugin.name === sandbox.pluginName ? sandbox({ fixture: true }) : plugin));
