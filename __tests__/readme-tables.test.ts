/** The tables of a plugin's README say what the plugin is: its options, its taps in their stages, its facts. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { createKernel, type TapInfo } from "../kernel/index.ts";
import { builtinPlugins } from "../plugins/index.ts";

const plugins = Object.values(builtinPlugins).map((plugin) => {
  const path = fileURLToPath(new URL(`../plugins/${plugin.pluginName}/README.md`, import.meta.url));
  const prose = readFileSync(path, "utf8").replace(/^```[\s\S]*?^```$/gm, "");
  return { name: plugin.pluginName, plugin, prose, lines: prose.split("\n") };
});
const needed = (names: readonly string[] = []) => names.flatMap((name) => builtinPlugins[name] ?? []);

describe.each(plugins.map((each) => [each.name, each] as const))(
  "the README of %s",
  (name, { plugin, prose, lines }) => {
    const { spec } = plugin;
    const taps = createKernel({ plugins: [...needed(spec.requires), plugin] }).taps.filter(
      (tap) => tap.plugin === name,
    );

    test("has every option, run option and fact", () => {
      const owned = [spec.options?.properties, spec.runOptions?.properties, spec.facts].flatMap((each) =>
        Object.keys(each ?? {}),
      );
      // An option that is an object may stand with its fields alone, as `budget.maxUsd`.
      expect(owned.filter((key) => !new RegExp(`\`(?:\\{ )?${key.replace(".", "\\.")}\\b`).test(prose))).toEqual([]);
    });

    test("has every tap with its hook, its stage and whether it guards, and no other", () => {
      const row = ({ hook, name: tap, stage, guard }: TapInfo) =>
        lines.some((line) => {
          const words = line.split(/[|,()\s]+/);
          return (
            words.includes(`\`${hook}\``) &&
            words.includes(`\`${tap}\``) &&
            (words.includes(stage) || words.includes(`\`${stage}\``)) &&
            (!guard || line.includes("guard"))
          );
        });
      expect(taps.filter((tap) => !row(tap)).map(({ hook, name: tap, stage }) => `${hook} ${tap} ${stage}`)).toEqual(
        [],
      );
      const named = [...prose.matchAll(/`([a-z-]+:[a-z-]+)`/g)].map(([, tap = ""]) => tap);
      expect(named.filter((tap) => tap.startsWith(`${name}:`) && !taps.some((own) => own.name === tap))).toEqual([]);
    });
  },
);
