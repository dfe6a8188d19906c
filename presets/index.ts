/** Presets: functions that return plugin lists, with no other logic. */
import type { Plugin } from "../kernel/index.ts";
import { bare } from "./bare.ts";
import { fixture } from "./fixture.ts";
import { standard } from "./standard.ts";

export { bare, fixture, standard };
export type Preset = () => Plugin[];
export type PresetName = "bare" | "standard" | "fixture";
/** Every preset by name. */
export const presets: Readonly<Record<PresetName, Preset>> = Object.freeze({ bare, standard, fixture });
