import { describe, expect, test } from "@jest/globals";
import { CavemanError } from "../../kernel/errors.ts";
import { HOOKS, HookSet, STAGES, type TapOptions } from "../../kernel/hooks.ts";
import { createKernel } from "../../kernel/kernel.ts";
import { definePlugin, orderPlugins } from "../../kernel/plugin.ts";

type Options = TapOptions<"admitTool">;
const set = (): HookSet => new HookSet(() => undefined);
const nothing = (): undefined => undefined;

/** The order in which taps of admitTool come out, tapped in the order given, each by a plugin of its own. */
function orderOf(...taps: Options[]): string[] {
  const hooks = set();
  for (const options of taps) hooks.facade(options.name.split(":")[0] ?? "").admitTool.tap(options, nothing);
  hooks.freeze();
  return hooks.taps.map(({ name }) => name);
}
function refusal(make: () => unknown): CavemanError {
  try {
    make();
  } catch (error) {
    if (error instanceof CavemanError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

describe("order", () => {
  test.each(HOOKS)("%s runs its stages in their fixed order, whatever the order of tapping", async (hook) => {
    const hooks = set();
    const ran: string[] = [];
    for (const stage of [...STAGES[hook]].reverse()) {
      hooks.facade("p")[hook].tap({ name: `p:${stage}`, stage } as never, () => void ran.push(stage));
    }
    hooks.freeze();
    expect(hooks.taps.map((tap) => tap.stage)).toEqual([...STAGES[hook]]);
    await hooks.fire(hook, { signal: new AbortController().signal, snapshot: nothing, restore: nothing } as never);
    expect(ran).toEqual([...STAGES[hook]]);
  });

  test("without a stage a tap runs in the hook's first", () => {
    const hooks = set();
    hooks.facade("p").admitTool.tap("p", nothing);
    hooks.freeze();
    expect(hooks.taps).toMatchObject([
      { hook: "admitTool", name: "p", plugin: "p", stage: "replay", guard: false, calls: 0, failures: 0 },
    ]);
  });

  test("within a stage taps run as they were tapped", () => {
    expect(orderOf({ name: "c" }, { name: "a" }, { name: "b" })).toEqual(["c", "a", "b"]);
  });

  test("before and after hold within a stage: a tap waits for those it comes after, the others keep their order", () => {
    expect(orderOf({ name: "a" }, { name: "b" }, { name: "c", before: "a" })).toEqual(["b", "c", "a"]);
    expect(orderOf({ name: "a", after: ["c"] }, { name: "b" }, { name: "c" })).toEqual(["b", "c", "a"]);
    expect(orderOf({ name: "a", after: "b", before: "d" }, { name: "d" }, { name: "b" })).toEqual(["b", "a", "d"]);
  });

  test("before and after hold across stages when the stages agree", () => {
    expect(orderOf({ name: "late", stage: "policy", after: "early" }, { name: "early", stage: "count" })).toEqual([
      "early",
      "late",
    ]);
  });

  test("two parts of one plugin are two taps", () => {
    expect(orderOf({ name: "p:b" }, { name: "p:a", before: "p:b" }, { name: "p" })).toEqual(["p:a", "p:b", "p"]);
  });
});

describe("what cannot be ordered is refused, and both sides are named", () => {
  test("an unknown name, with the nearest that exists", () => {
    const error = refusal(() => orderOf({ name: "policy:shell" }, { name: "mine", before: "policy:shel" }));
    expect(error.code).toBe("cave_plugin_order");
    expect(error.message).toContain('"mine"');
    expect(error.message).toContain('"policy:shel", did you mean "policy:shell"?');
  });

  test("an unknown name with none near", () => {
    const error = refusal(() => orderOf({ name: "mine", after: "something-else" }));
    expect(error.message).toContain('"something-else"');
    expect(error.message).not.toContain("did you mean");
  });

  test("the name of a tap on another hook is unknown", () => {
    const hooks = set();
    hooks.facade("a").reserve.tap("a", nothing);
    hooks.facade("b").admitTool.tap({ name: "b", after: "a" }, nothing);
    expect(refusal(() => hooks.freeze()).code).toBe("cave_plugin_order");
  });

  test.each<[string, Options[]]>([
    [
      "two",
      [
        { name: "a", before: "b" },
        { name: "b", before: "a" },
      ],
    ],
    [
      "three",
      [
        { name: "a", after: "c" },
        { name: "b", after: "a" },
        { name: "c", after: "b" },
      ],
    ],
    ["one", [{ name: "a", before: "a" }]],
  ])("a circle of %s", (_size, taps) => {
    const error = refusal(() => orderOf(...taps));
    expect(error.code).toBe("cave_plugin_order");
    for (const { name } of taps) expect(error.detail.received).toContain(name);
  });

  test("an order that the stages forbid", () => {
    const error = refusal(() =>
      orderOf({ name: "first", stage: "count", after: "last" }, { name: "last", stage: "place" }),
    );
    expect(error.detail.received).toBe('"first" (count) after "last" (place)');
    expect(
      refusal(() => orderOf({ name: "last", stage: "place", before: "first" }, { name: "first", stage: "count" })).code,
    ).toBe("cave_plugin_order");
  });

  test("a stage of another hook", () => {
    const hooks = set();
    const error = refusal(() => hooks.facade("p").admitTool.tap({ name: "p", stage: "price" } as never, nothing));
    expect(error).toMatchObject({
      code: "cave_plugin_order",
      detail: { received: "price", expected: STAGES.admitTool.join(", ") },
    });
  });

  test("one name twice on a hook; on two hooks it is fine", () => {
    const { admitTool, reserve } = set().facade("p");
    admitTool.tap("p:x", nothing);
    reserve.tap("p:x", nothing);
    const error = refusal(() => admitTool.tap("p:x", nothing));
    expect(error.code).toBe("cave_plugin_order");
    expect(error.message).toContain("p:x");
  });

  test.each(["", "other", "pp", "pp:x", "other:p", ":p", undefined])("the tap name %j of plugin p", (name) => {
    expect(
      refusal(() =>
        set()
          .facade("p")
          .admitTool.tap({ name } as never, nothing),
      ).code,
    ).toBe("cave_plugin_invalid");
  });

  test("something that is no function", () => {
    expect(
      refusal(() =>
        set()
          .facade("p")
          .admitTool.tap("p", "deny" as never),
      ).code,
    ).toBe("cave_plugin_invalid");
  });
});

describe("a plugin's face of the hooks", () => {
  test("has the six hooks and, of each, tap alone", () => {
    const facade = set().facade("p");
    expect(Object.keys(facade)).toEqual(["compact", "beforeCall", "reserve", "afterUsage", "admitTool", "settle"]);
    for (const hook of HOOKS) {
      expect(Reflect.ownKeys(facade[hook])).toEqual(["tap"]);
      expect(Object.getPrototypeOf(facade[hook])).toBe(Object.prototype);
      expect(Object.isFrozen(facade[hook])).toBe(true);
    }
    expect(Object.isFrozen(facade)).toBe(true);
  });

  test("takes no tap once the hooks are compiled", () => {
    const hooks = set();
    const facade = hooks.facade("p");
    hooks.freeze();
    expect(refusal(() => facade.settle.tap("p", nothing)).code).toBe("cave_kernel_frozen");
  });
});

describe("plugins", () => {
  const plugin = (name: string, extra: { requires?: string[]; before?: string[]; after?: string[] } = {}) =>
    definePlugin({ name, ...extra, apply: nothing });
  const names = (...list: ReturnType<typeof plugin>[]): string[] => orderPlugins(list).map(({ name }) => name);

  test("stay as listed but for before, after and requires", () => {
    expect(names(plugin("c"), plugin("a"), plugin("b"))).toEqual(["c", "a", "b"]);
    expect(names(plugin("c", { requires: ["a"] }), plugin("b", { before: ["c"] }), plugin("a"))).toEqual([
      "b",
      "a",
      "c",
    ]);
  });

  test("before and after may name a plugin that is not loaded; requires may not", () => {
    expect(names(plugin("a", { after: ["z"], before: ["y"] }))).toEqual(["a"]);
    const error = refusal(() => names(plugin("a", { requires: ["pricng"] }), plugin("pricing")));
    expect(error).toMatchObject({
      code: "cave_plugin_missing",
      detail: { place: "plugin a", expected: "plugin pricng", received: "pricing" },
    });
  });

  test("two of one name, and a circle, are refused", () => {
    expect(refusal(() => names(plugin("a"), plugin("a"))).code).toBe("cave_plugin_duplicate");
    expect(refusal(() => names(plugin("a", { requires: ["b"] }), plugin("b", { after: ["a"] }))).code).toBe(
      "cave_plugin_order",
    );
  });

  test("what is no plugin is refused with its place", () => {
    expect(refusal(() => orderPlugins([{ name: "a" } as never])).detail.place).toBe("plugins[0]");
  });
});

describe("a loop that is not ours", () => {
  const taps = (hook: "reserve" | "compact") =>
    definePlugin({
      name: "guard",
      apply: ({ hooks }) => hooks[hook].tap({ name: "guard" }, () => undefined),
    });

  test("drives the hooks it names; a plugin that needs another fails assembly, naming both", () => {
    const drives = ["beforeCall", "reserve", "afterUsage", "admitTool", "settle"] as const;
    expect(() => createKernel({ plugins: [taps("reserve")], drives })).not.toThrow();
    expect(() => createKernel({ plugins: [taps("compact")], drives })).toThrow(
      /cave_adapter_cannot_enforce.*plugin guard.*beforeCall, reserve.*"guard" on compact/,
    );
  });
});
