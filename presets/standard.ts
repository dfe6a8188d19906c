import type { Plugin } from "../kernel/index.ts";
import {
  breakers,
  budget,
  limits,
  policy,
  pricing,
  results,
  retry,
  sandbox,
  shell,
  subagents,
} from "../plugins/index.ts";
import { bare } from "./bare.ts";

/**
 * The default: what `bare` has, priced, metered, bounded, watched for loops, retried where that costs nothing twice, its
 * tool calls decided by policy, run in contained workers, and their results capped.
 */
export const standard = (): Plugin[] => [
  ...bare(),
  pricing(),
  budget(),
  limits(),
  subagents(),
  breakers(),
  retry(),
  policy(),
  sandbox(),
  shell(),
  results(),
];
