/** Presets: functions that return plugin lists, with no other logic. */
import type { Plugin } from "../kernel/index.ts";
import { bare } from "./bare.ts";
import { type CodingOptions, coding } from "./coding.ts";
import { fixture } from "./fixture.ts";
import { standard } from "./standard.ts";

export { bare, type CodingOptions, coding, fixture, standard };
/** Gives the plugins of a preset, each with its options bound. */
export type Preset = () => Plugin[];
/** The presets that ship. */
export type PresetName = "bare" | "standard" | "coding" | "fixture";
/** Every preset by name. */
export const presets: Readonly<Record<PresetName, Preset>> = Object.freeze({ bare, standard, coding, fixture });
