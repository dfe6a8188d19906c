/** The built-in commands. Each one's code loads when it runs. */
import type { Command, Option } from "../command.ts";

const json: Option = { type: "boolean", describe: "Print JSON on stdout" };
const config: Option = { type: "string", describe: "Config file, instead of the one found" };

export const commands: Readonly<Record<string, Command>> = {
  run: {
    usage: "run <agent> [input]",
    describe: "Run an agent file or directory",
    positionals: {
      agent: "An agent directory, or a file that exports an agent as default or as agent",
      input: "What the user says; - reads it from stdin",
    },
    options: {
      json: { ...json, describe: "Print the result with its receipt as JSON on stdout" },
      stream: { type: "boolean", describe: "Print every event as one line of JSON on stdout" },
      model: { type: "string", describe: "provider/model, over the agent's own" },
      "max-usd": { type: "number", describe: "The most the run may spend, in dollars" },
      config,
    },
    load: () => import("./run.ts"),
  },
  code: {
    usage: "code [prompt]",
    describe: "The coding agent: a session at a terminal, or one turn; without a key, a scripted one on an example",
    positionals: { prompt: "What to do, for one turn; left out: a session, or the prompt from a pipe" },
    options: {
      workspace: { type: "string", describe: "The folder it works in; default: the working directory" },
      model: { type: "string", describe: "provider/model" },
      "max-usd": { type: "number", describe: "The most the session may spend, in dollars" },
      "observe-only": { type: "boolean", describe: "Only tools that read" },
      allow: {
        type: "string",
        describe: 'What needs no approval: "edits", and commands by their first words, as "edits; npm test"',
      },
      instructions: {
        type: "boolean",
        describe: "Read AGENTS.md and Agent Skills of the repository: its authors' words, not yours",
      },
      resume: { type: "string", describe: "Go on with a saved session: its id, or last" },
      continue: { type: "boolean", describe: "Go on with the last session" },
      json: { ...json, describe: "One turn, its result with bill and receipt as JSON on stdout" },
    },
    load: () => import("./code.ts"),
  },
  init: {
    usage: "init <dir>",
    describe: "Write an agent project that runs offline at once",
    positionals: { dir: "A new or empty directory" },
    options: {},
    load: () => import("./init.ts"),
  },
  plugins: {
    usage: "plugins",
    describe: "Show the six hooks with every tap in the order it runs",
    positionals: {},
    options: { json, config },
    load: () => import("./plugins.ts"),
  },
  doctor: {
    usage: "doctor",
    describe: "Check node, config, credentials and a scripted run",
    positionals: {},
    options: { json, config },
    load: () => import("./doctor.ts"),
  },
  config: {
    usage: "config",
    describe: "Show the config that applies here, and its file",
    positionals: {},
    options: { json, config },
    load: () => import("./config.ts"),
  },
  explain: {
    usage: "explain [code]",
    describe: "Say what an error code means and what to do; without a code, list all",
    positionals: { code: "An error code: cave_…" },
    options: { json },
    load: () => import("./explain.ts"),
  },
  catalog: {
    usage: "catalog <action> [target]",
    describe: "The price list: list, show, validate, import, update",
    positionals: {
      action: "list [provider], show <provider/model>, validate, import <file>, or update",
      target: "What the action is about",
    },
    options: { json },
    load: () => import("./catalog.ts"),
  },
  receipts: {
    usage: "receipts [dir]",
    describe: "List past runs with what they cost, by agent and model; or write them as a page",
    positionals: { dir: "The directory the agent ran in, where .caveman/runs is; or the receipt plugin's own dir" },
    options: {
      json,
      html: { type: "string", describe: "Write the newest run as one self-contained page to this file" },
      all: { type: "boolean", describe: "With --html: every run" },
    },
    load: () => import("./receipts.ts"),
  },
  simulate: {
    usage: "simulate <agent> [input]",
    describe: "Run an agent's script and say what it would cost with several models; no provider is called",
    positionals: { agent: "As of run, with a model script beside it", input: "What the user says" },
    options: {
      models: { type: "string", describe: "provider/model,provider/model: whose prices to compare" },
      json,
    },
    load: () => import("./simulate.ts"),
  },
};

/** The commands that built-in plugins bring, named here so that the help text loads none of them. */
export const fromPlugins: readonly string[] = ["compress", "detect", "engine", "mcp", "mem", "retrieve", "stats"];
