/** Presets: functions that return plugin lists, with no other logic. */
import type { Plugin } from "../kernel/index.ts";
import { bare } from "./bare.ts";
import { type CodingOptions, coding } from "./coding.ts";
import { fixture } from "./fixture.ts";
import { standard } from "./standard.ts";

export { bare, type CodingOptions, coding, fixture, standard };
export type Preset = () => Plugin[];
export type PresetName = "bare" | "standard" | "coding" | "fixture";
/** Every preset by name. */
export const presets: Readonly<Record<PresetName, Preset>> = Object.freeze({ bare, standard, coding, fixture });
