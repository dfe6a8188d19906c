/**
 * Sandbox: where the tools of a definition run. `required` (the default of `agent()`) gives every call a worker process
 * of its own behind namespaces of the operating system; `fixture` runs them here and blocks writes; `host` runs them here.
 * Taps `admitTool` (place the call), `beforeCall` (start a worker while the model thinks), `settle` (tear down); stages
 * sources in `prepare`. Owns `entryPath` and `sandboxProfile`. Tools that plugins bring are the host's own and stay there.
 */
import { Type } from "@sinclair/typebox";
import { CavemanError, definePlugin, defineService } from "../../kernel/index.ts";
import { errors } from "./errors.ts";
import { assertProfile, LazyWorkers } from "./lazy-workers.ts";
import { isPlaceable, modeOf, placeOf, treatAsFixture, wantsWorkers } from "./modes.ts";
import type { ProbeReport } from "./probe.ts";
import type { SandboxProfile } from "./profile.ts";

export type { ProbeCheck, ProbeReport } from "./probe.ts";
export type { SandboxProfile } from "./profile.ts";

declare module "../../kernel/contract.ts" {
  interface RunOptions {
    /** The module that exports the definition, or an agent directory: a path from `rootDir`, or a file URL such as `import.meta.url`. */
    entryPath?: string | URL;
    /** What workers may have beyond the baseline. */
    sandboxProfile?: SandboxProfile;
  }
}

export const MEMORY_MB = 256;
export const SCRATCH_MB = 64;

/** Whether required mode holds on this machine: a real worker tries to get out. Never rejects. */
export const probeSandbox = async (): Promise<ProbeReport> => (await import("./probe.ts")).probe();

/** The workers of a tree of runs, for what is asked outside of `apply`. */
const Workers = defineService<LazyWorkers>("sandbox.workers");

export const sandbox = definePlugin({
  name: "sandbox",
  description: "Runs the tools of an agent in contained workers, unless its definition says otherwise.",
  options: Type.Object({
    fixture: Type.Boolean({
      default: false,
      description: "run the tools of contained agents in this process and block their writes: for tests",
    }),
    startAhead: Type.Boolean({ default: true, description: "start workers while the model thinks" }),
    memoryMb: Type.Integer({
      default: MEMORY_MB,
      minimum: 64,
      maximum: 16_384,
      description: "megabytes of memory a sandboxed call may take",
    }),
    scratchMb: Type.Integer({
      default: SCRATCH_MB,
      minimum: 1,
      maximum: 4_096,
      description: "megabytes of a sandboxed call's private /tmp",
    }),
  }),
  runOptions: Type.Object({
    entryPath: Type.Optional(Type.Unsafe<string | URL>({ description: "module that exports the agent" })),
    sandboxProfile: Type.Optional(
      Type.Object({
        network: Type.Optional(Type.Boolean()),
        childProcess: Type.Optional(Type.Boolean()),
        credentialEnv: Type.Optional(Type.Array(Type.String())),
      }),
    ),
  }),
  errors,
  // A refused mode is its definition's: whoever asks for controls is not the one to refuse it.
  controls: (run) => ({ sandbox: run.agent.sandbox === "host" ? "host" : modeOf(run) }),
  prepare(run, signal) {
    modeOf(run);
    if (run.parent) return undefined;
    const { entryPath, sandboxProfile } = run.options;
    if (entryPath !== undefined && typeof entryPath !== "string" && !(entryPath instanceof URL))
      throw new CavemanError("cave_option_invalid", {
        place: "run option entryPath",
        expected: "a path or a file URL",
        received: typeof entryPath,
      });
    const open = (): Promise<void> | undefined =>
      wantsWorkers(run) ? run.find(Workers)?.open(run, signal) : undefined;
    return sandboxProfile === undefined ? open() : assertProfile(sandboxProfile).then(open);
  },
  apply(kernel, { fixture = false, startAhead = true, memoryMb = MEMORY_MB, scratchMb = SCRATCH_MB }) {
    const workersOf = kernel.perRun((run): LazyWorkers => {
      if (fixture) treatAsFixture(run);
      return run.parent ? workersOf(run.parent) : new LazyWorkers({ ahead: startAhead, memoryMb, scratchMb });
    });
    kernel.provide(Workers, workersOf);
    kernel.hooks.beforeCall.tap({ name: "sandbox:ahead", stage: "shape" }, ({ run, purpose, tools }) => {
      if (modeOf(run) !== "required" || purpose !== "turn" || tools.length === 0) return;
      if (run.agent.tools.some(isPlaceable)) workersOf(run).prestart();
    });
    kernel.hooks.admitTool.tap({ name: "sandbox", stage: "place" }, (call) => {
      if (!call.tool || call.problem) return undefined;
      const mode = modeOf(call.run);
      if (mode === "fixture" && call.tool.effect === "write" && !call.tool.name.startsWith("cave_"))
        return {
          deny: { code: "cave_side_effect_blocked", message: "A fixture agent may not call a tool that writes." },
        };
      const place = mode === "required" ? placeOf(call) : undefined;
      if (place) call.executor((input, signal) => workersOf(call.run).execute(call, place, input, signal));
      return undefined;
    });
    kernel.hooks.settle.tap({ name: "sandbox", stage: "work" }, ({ run }) =>
      run.parent ? undefined : workersOf(run).close(),
    );
  },
});
