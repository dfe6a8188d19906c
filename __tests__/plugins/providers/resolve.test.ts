import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  agent,
  auto,
  createKernel,
  definePlugin,
  type ModelSpec,
  type ResolvedModel,
  subagent,
} from "../../../kernel/index.ts";
import { budget } from "../../../plugins/budget/index.ts";
import { pricing } from "../../../plugins/pricing/index.ts";
import { providers } from "../../../plugins/providers/index.ts";
import { autoSpec, type ResolveSettings, regimeOfModel, resolveModel } from "../../../plugins/providers/resolve.ts";
import { scripted } from "../../../plugins/providers/scripted/index.ts";
import { rejection, withEnvironment } from "./environment.ts";

const KEY = "sk-test-0123456789abcdef";
const settings: ResolveSettings = { endpoints: {}, baseURLs: {}, openaiApi: "responses" };
let root = "";
let configured = "";
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "providers-"));
  configured = join(root, "configured");
  await mkdir(join(configured, ".caveman"), { recursive: true });
  await writeFile(join(configured, ".caveman", "provider.json"), '{"model": "google/gemini-2.5-pro"}');
});
afterAll(() => rm(root, { recursive: true, force: true }));

describe("auto()", () => {
  test.each<[string, Record<string, string>, string]>([
    ["Anthropic's key alone", { ANTHROPIC_API_KEY: KEY }, "anthropic/claude-haiku-4-5"],
    ["OpenAI's key alone", { OPENAI_API_KEY: KEY }, "openai/gpt-5.4-mini"],
    ["Gemini's key alone", { GEMINI_API_KEY: KEY }, "google/gemini-2.5-flash"],
    ["Google's key alone", { GOOGLE_API_KEY: KEY }, "google/gemini-2.5-flash"],
    ["both of Google's keys, one vendor", { GEMINI_API_KEY: KEY, GOOGLE_API_KEY: KEY }, "google/gemini-2.5-flash"],
    ["an empty variable counts as unset", { ANTHROPIC_API_KEY: "", OPENAI_API_KEY: KEY }, "openai/gpt-5.4-mini"],
    ["CAVE_MODEL comes before any key", { CAVE_MODEL: "sim/x", ANTHROPIC_API_KEY: KEY }, "sim/x"],
  ])("%s", async (_, env, spec) => {
    expect(await autoSpec(env, root)).toBe(spec);
  });

  test("the configured model comes after CAVE_MODEL and before the keys", async () => {
    expect(await autoSpec({ ANTHROPIC_API_KEY: KEY }, configured)).toBe("google/gemini-2.5-pro");
    expect(await autoSpec({ CAVE_MODEL: "openai/gpt-5.4" }, configured)).toBe("openai/gpt-5.4");
  });

  test("without a credential one error lists everything that may be set", async () => {
    const error = await rejection(autoSpec({}, root));
    expect(error.code).toBe("cave_provider_credentials");
    for (const name of [
      "CAVE_MODEL",
      "provider.json",
      "ANTHROPIC_API_KEY",
      "OPENAI_API_KEY",
      "GEMINI_API_KEY",
      "GOOGLE_API_KEY",
    ])
      expect(error.message).toContain(name);
  });

  test("several credentials are never chosen between", async () => {
    const error = await rejection(autoSpec({ ANTHROPIC_API_KEY: KEY, GOOGLE_API_KEY: KEY }, root));
    expect(error).toMatchObject({ code: "cave_provider_credentials" });
    expect(error.message).toMatch(/anthropic, google.*CAVE_MODEL.*ANTHROPIC_API_KEY, GOOGLE_API_KEY/s);
    expect(error.message).not.toContain(KEY);
  });

  test.each([["not JSON, with a key sk-secret-in-file"], ["[]"], ['{"model": "nameless"}'], ['{"model": 4}']])(
    "a provider.json that holds %j is refused and not quoted",
    async (text) => {
      const folder = await mkdtemp(join(root, "bad-"));
      await mkdir(join(folder, ".caveman"));
      await writeFile(join(folder, ".caveman", "provider.json"), text);
      const error = await rejection(autoSpec({ ANTHROPIC_API_KEY: KEY }, folder));
      expect(error.code).toBe("cave_provider_config");
      expect(error.message).not.toContain("sk-secret");
    },
  );

  test("a CAVE_MODEL without a provider is refused", async () => {
    expect(await rejection(autoSpec({ CAVE_MODEL: "gpt" }, root))).toMatchObject({ code: "cave_model_invalid" });
  });
});

describe("keys", () => {
  test.each([
    ["a space", "sk-test 0123456789"],
    ["a line break", "sk-test-0123456789\n"],
    ["a character outside ASCII", "sk-test-0123456789é"],
    ["too few characters", "sk-1234"],
  ])("a key with %s is refused and never shown", async (_, key) => {
    for (const spec of [auto(), "anthropic/claude-haiku-4-5"] as ModelSpec[]) {
      const error = await rejection(resolveModel(spec, settings, { ANTHROPIC_API_KEY: key }, root));
      expect(error.code).toBe("cave_provider_credentials");
      expect(error.message).toContain("ANTHROPIC_API_KEY");
      expect(`${error.message}${error.stack}${JSON.stringify(error)}`).not.toContain(key.trim());
    }
  });

  test.each([
    ["anthropic/claude-haiku-4-5", "ANTHROPIC_API_KEY"],
    ["openai/gpt-5.4", "OPENAI_API_KEY"],
    ["google/gemini-2.5-pro", "GEMINI_API_KEY or GOOGLE_API_KEY"],
  ])("%s without its key asks for %s", async (spec, names) => {
    const error = await rejection(resolveModel(spec, settings, {}, root));
    expect(error.code).toBe("cave_provider_credentials");
    expect(error.message).toContain(names);
  });
});

describe("names", () => {
  test("an unknown provider gives the nearest valid name", async () => {
    const error = await rejection(resolveModel("antropic/claude-haiku-4-5", settings, {}, root));
    expect(error.code).toBe("cave_provider_unknown");
    expect(error.message).toContain("anthropic/claude-haiku-4-5");
  });
  test("far from every name, all are listed, endpoints included", async () => {
    const error = await rejection(
      resolveModel(
        "zzzzzzzzzz/m",
        { ...settings, endpoints: { local: { baseURL: "http://127.0.0.1:1/v1" } } },
        {},
        root,
      ),
    );
    expect(error.message).toContain("anthropic, openai, google, sim, local");
  });
  test.each([["constructor/x"], ["__proto__/x"]])("%s is no provider", async (spec) => {
    expect(await rejection(resolveModel(spec, settings, {}, root))).toMatchObject({ code: "cave_provider_unknown" });
  });
  test("an endpoint carries its limits, and needs a key only when it names one", async () => {
    const local = { baseURL: "http://127.0.0.1:1/v1", contextWindow: 32_000, maxOutput: 4_000, structuredOutput: true };
    const resolved = await resolveModel("local/llama/3", { ...settings, endpoints: { local } }, {}, root);
    expect(resolved).toMatchObject({
      provider: "local",
      id: "llama/3",
      contextWindow: 32_000,
      maxOutput: 4_000,
      structuredOutput: true,
      simulated: false,
      route: "direct",
    });
    const plain = await resolveModel(
      "local/m",
      { ...settings, endpoints: { local: { baseURL: local.baseURL } } },
      {},
      root,
    );
    expect(plain.structuredOutput).toBe(false);
    expect(plain).not.toHaveProperty("contextWindow");
    const error = await rejection(
      resolveModel("local/m", { ...settings, endpoints: { local: { ...local, apiKeyEnv: "LOCAL_KEY" } } }, {}, root),
    );
    expect(error.message).toContain("LOCAL_KEY");
  });
  test.each([["anthropic"], ["sim"], ["a/b"], [""]])("an endpoint cannot be called %j", (name) => {
    expect(() =>
      createKernel({ plugins: [providers({ endpoints: { [name]: { baseURL: "http://127.0.0.1:1" } } })] }),
    ).toThrow(expect.objectContaining({ code: "cave_option_invalid" }));
  });
  test("an endpoint option that is misspelt is refused by its place", () => {
    expect(() =>
      providers({ endpoints: { local: { baseURL: "http://127.0.0.1:1", apiKeyENV: "K" } as never } }),
    ).toThrow(/endpoints\.local.*apiKeyENV/);
  });
  test("a model object is used as it is, and says itself whether it is simulated", async () => {
    const model = scripted([{ text: "hi" }], { as: "anthropic/claude-haiku-4-5" });
    const resolved = await resolveModel(model, settings, {}, root);
    expect(resolved.model).toBe(model);
    expect(resolved).toMatchObject({ provider: "anthropic", id: "claude-haiku-4-5", simulated: true, route: "direct" });
    expect(
      await resolveModel({ ...model, simulated: undefined, provider: "openai.responses" } as never, settings, {}, root),
    ).toMatchObject({ provider: "openai", simulated: false, structuredOutput: true });
  });
});

describe("sim/", () => {
  const script = async (name: string, text: string): Promise<void> => writeFile(join(root, name), text);
  const answer = async (model: ResolvedModel): Promise<string> =>
    (await model.model.doGenerate({ prompt: [] })).content
      .map((part) => (part.type === "text" ? part.text : ""))
      .join("");

  test("loads an array, a function, and a script that passes for another model", async () => {
    await script("list.json", '[{"text": "from a list"}]');
    await script("made.mjs", 'export default () => ({ text: "from a function" });');
    await script(
      "typed.ts",
      'const as: string = "openai/gpt-5.4"; export default { script: [{ text: "typed" }], as };',
    );
    const list = await resolveModel("sim/list", settings, {}, root);
    expect(list).toMatchObject({ provider: "sim", id: "list", simulated: true });
    expect(await answer(list)).toBe("from a list");
    expect(await answer(await resolveModel("sim/made", settings, {}, root))).toBe("from a function");
    const typed = await resolveModel("sim/typed", settings, {}, root);
    expect(typed).toMatchObject({ provider: "openai", id: "gpt-5.4", simulated: true });
    expect(await answer(typed)).toBe("typed");
  });

  test("scripts can live in a folder of their own", async () => {
    await mkdir(join(root, "scripts"), { recursive: true });
    await script("scripts/own.json", '[{"text": "own"}]');
    expect(await answer(await resolveModel("sim/own", { ...settings, scriptRoot: "scripts" }, {}, root))).toBe("own");
  });

  test.each([
    ["object.json", "{}"],
    ["number.json", "4"],
    ["broken.json", "["],
    ["none.mjs", "export const x = 1;"],
    ["throws.mjs", "throw new Error('no');"],
    ["badas.json", '{"script": [], "as": 4}'],
    ["badstep.json", '[{"txet": 1}]'],
    ["null.json", "null"],
  ])("%s that holds %j is refused", async (name, text) => {
    await script(name, text);
    expect(await rejection(resolveModel(`sim/${name.replace(/\.\w+$/, "")}`, settings, {}, root))).toMatchObject({
      code: "cave_sim_script_invalid",
    });
  });

  test("a script that is not there, or outside the folder, is refused", async () => {
    expect(await rejection(resolveModel("sim/absent", settings, {}, root))).toMatchObject({
      code: "cave_sim_script_invalid",
    });
    await script("outside.json", "[]");
    expect(
      await rejection(resolveModel("sim/../outside", { ...settings, scriptRoot: "scripts" }, {}, root)),
    ).toMatchObject({ code: "cave_sim_script_invalid" });
  });
});

describe("a run", () => {
  const runs = (agentModel: ModelSpec, model?: ModelSpec) => {
    const kernel = createKernel({ plugins: [providers()] });
    return kernel.start(agent({ id: "a", instructions: "Answer.", model: agentModel }), "hi", {
      rootDir: root,
      ...(model === undefined ? {} : { model }),
    });
  };

  test("the run's model overrides the definition's", async () => {
    const outcome = await runs("anthropic/claude-haiku-4-5", scripted([{ text: "overridden" }])).done;
    expect(outcome.text).toBe("overridden");
  });

  test("without a usable credential it fails with the code, and no call was made", async () => {
    await withEnvironment({}, async () => {
      const { run, done } = runs(auto());
      expect(await done).toMatchObject({
        stopReason: "error",
        error: expect.objectContaining({ code: "cave_provider_credentials" }),
      });
      expect(run.ledger.of("call.settled")).toEqual([]);
    });
  });

  test("a child that says auto() calls its parent's model, one that names its own keeps it", async () => {
    const own = scripted([{ text: "own" }]);
    const parent = scripted((_request, index) =>
      index === 0
        ? {
            toolCalls: [
              { name: "inherits", input: { task: "go" } },
              { name: "keeps", input: { task: "go" } },
            ],
          }
        : { text: "shared" },
    );
    const child = (name: string, model: ModelSpec) =>
      subagent({ name, description: "Does it.", agent: agent({ id: name, instructions: "Do.", model }) });
    const models: string[] = [];
    const watch = definePlugin({
      name: "watch",
      apply: (kernel) =>
        kernel.hooks.reserve.tap(
          { name: "watch", stage: "check" },
          (call) => void models.push(`${call.run.agent.id}:${call.model.model === own ? "own" : "parent"}`),
        ),
    });
    const kernel = createKernel({ plugins: [providers(), watch()] });
    const outcome = await kernel.start(
      agent({ id: "root", instructions: "Lead.", tools: [child("inherits", auto()), child("keeps", own)] }),
      "hi",
      { model: parent },
    ).done;
    expect(outcome.stopReason).toBe("complete");
    expect(models.sort()).toEqual(["inherits:parent", "keeps:own", "root:parent", "root:parent"]);
  });
});

describe("how an account is billed", () => {
  test.each([
    ["anthropic/claude-haiku-4-5", "ANTHROPIC_API_KEY", "sk-ant-api03-0123456789", "metered"],
    ["anthropic/claude-haiku-4-5", "ANTHROPIC_API_KEY", "sk-ant-oat01-0123456789", "subscription"],
    ["anthropic/claude-haiku-4-5", "ANTHROPIC_API_KEY", "sk-ant-sid01-0123456789", "subscription"],
    ["openai/gpt-5.4-mini", "OPENAI_API_KEY", "sess-0123456789", "subscription"],
    ["openai/gpt-5.4-mini", "OPENAI_API_KEY", "eyJhbGciOiJub25lIn0.e30.", "unknown"],
    ["google/gemini-2.5-flash", "GEMINI_API_KEY", "ya29.0123456789", "unknown"],
    ["google/gemini-2.5-flash", "GEMINI_API_KEY", "AIza0123456789", "metered"],
  ])("%s with %s=%s is %s", async (spec, variable, key, regime) => {
    expect(regimeOfModel(await resolveModel(spec, settings, { [variable]: key }, root))).toBe(regime);
  });

  test("dollars cannot bound a subscription: the run is refused before the first call, with the way out", async () => {
    await withEnvironment({ ANTHROPIC_API_KEY: "sk-ant-oat01-0123456789" }, async () => {
      const kernel = createKernel({
        plugins: [providers({ baseURLs: { anthropic: "http://127.0.0.1:9" } }), pricing(), budget()],
      });
      const { run, done } = kernel.start(
        agent({ id: "a", instructions: "i", model: "anthropic/claude-haiku-4-5" }),
        "go",
        { budget: { maxUsd: 1 } },
      );
      const { error } = await done;
      expect(error?.code).toBe("cave_budget_denomination_unavailable");
      expect(error?.message).toContain("maxTokens");
      expect(run.ledger.of("call.intended")).toEqual([]);
    });
  });
});
