/** Writes caveman.config.schema.json from the option schemas of presets and plugins; `--check` fails when it is stale. */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { TObject } from "@sinclair/typebox";
import { configKeys } from "../cli/config.ts";
import type { PluginFactory } from "../kernel/plugin.ts";
import { builtinPlugins } from "../plugins/index.ts";
import { presets } from "../presets/index.ts";

const TARGET = new URL("../caveman.config.schema.json", import.meta.url);

/** The JSON schema of a config file. */
function configSchema(): object {
  const factories = Object.entries(builtinPlugins as unknown as Readonly<Record<string, PluginFactory>>).sort(
    ([a], [b]) => (a < b ? -1 : 1),
  );
  const names = factories.map(([name]) => name);
  const runOptions = optional(
    Object.assign({}, ...factories.map(([, { spec }]) => spec.runOptions?.properties ?? {})),
  ) as object;
  const { properties } = configKeys;
  const presetOptions = Object.assign(
    {},
    ...Object.values(presets).map((preset) => ("options" in preset ? (preset.options as TObject).properties : {})),
  ) as object;
  return plain({
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "caveman.config",
    description:
      "The config of caveman-agent: caveman.config.ts, .mts, .js, .mjs, .json, .yaml, .yml, or the key caveman in package.json.",
    type: "object",
    additionalProperties: false,
    properties: {
      $schema: properties.$schema,
      preset: { ...properties.preset, enum: Object.keys(presets) },
      presetOptions:
        Object.keys(presetOptions).length > 0
          ? { ...properties.presetOptions, properties: presetOptions }
          : properties.presetOptions,
      plugins: {
        type: "array",
        description: properties.plugins.description,
        items: {
          anyOf: [
            { description: "A built-in plugin with its default options.", enum: names },
            ...factories.map(([name, { spec }]) => pair({ const: name }, spec.description, closed(spec.options))),
            {
              type: "string",
              minLength: 1,
              description: "The name of an installed package whose default export is a plugin.",
              not: { enum: names },
            },
            pair({ type: "string", minLength: 1, not: { enum: names } }, "An installed package with options.", {
              type: "object",
            }),
          ],
        },
      },
      run: {
        type: "object",
        description: properties.run.description,
        additionalProperties: false,
        properties: {
          model: { ...properties.model, description: "provider/model." },
          rootDir: {
            type: "string",
            description: "Where file() paths are resolved from. Default: the working directory.",
          },
          runId: {
            type: "string",
            pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$",
            description: "The run's name. Default: a random one.",
          },
          ...runOptions,
        },
      },
      model: properties.model,
    },
  }) as object;
}

const pair = (name: object, description: string | undefined, options: object): object => ({
  type: "array",
  ...(description ? { description } : {}),
  items: [name, options],
  minItems: 2,
  maxItems: 2,
});

const closed = (options: TObject | undefined): object =>
  options
    ? { additionalProperties: false, ...(optional(options) as object) }
    : { type: "object", additionalProperties: false };

/** A key with a default may be left out: the default is filled in when the config is read. */
function optional(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(optional);
  if (typeof value !== "object" || value === null) return value;
  const { required, ...rest } = value as {
    readonly required?: unknown;
    readonly properties?: Readonly<Record<string, object>>;
  };
  const still = Array.isArray(required)
    ? required.filter((key: string) => !("default" in (rest.properties?.[key] ?? {})))
    : [];
  const mapped = Object.fromEntries(Object.entries(rest).map(([key, entry]) => [key, optional(entry)]));
  return still.length > 0
    ? { ...mapped, required: still }
    : Array.isArray(required)
      ? mapped
      : { ...mapped, ...(required === undefined ? {} : { required: optional(required) }) };
}

/** Drops the symbols of the schema builder and keys without a value. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown;

export const render = (): string => `${JSON.stringify(configSchema(), null, 2)}\n`;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const wanted = render();
  if (!process.argv.includes("--check")) await writeFile(TARGET, wanted);
  else if ((await readFile(TARGET, "utf8").catch(() => "")) !== wanted) {
    process.stderr.write("caveman.config.schema.json is stale: run node scripts/generate-config-schema.ts\n");
    process.exitCode = 1;
  }
}
