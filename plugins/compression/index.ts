/**
 * compression: what a tool returns reaches the model smaller, and every byte that was left out can be fetched back. Taps
 * `admitTool` (one output stage). Provides the service `Compression`; owns content detection, the compressors, the run
 * option `compression`, the fact `compression.applied` and `caveman compress`, `detect`, `stats`, `engine`.
 */
import { type Static, Type } from "@sinclair/typebox";
import { CavemanError, definePlugin, type Run } from "../../kernel/index.ts";
import { Compression } from "../services.ts";
import type { Compressor } from "./compressor.ts";
import { DETECTED } from "./content-type.ts";
import type { Engine } from "./engine.ts";
import { errors } from "./errors.ts";
import type { OutputCompression } from "./output-stage.ts";

export type { CompressContext, Compressed, Compressor, ContentType, DetectedType, ForcedType } from "./schema.ts";

declare module "../../kernel/contract.ts" {
  interface RunOptions {
    /** `false` leaves the results of this run as they are. Children inherit it. */
    compression?: false;
  }
}
declare module "../../kernel/ledger.ts" {
  interface Facts {
    /** A tool's result was shown in a smaller view. Figures are inferred: the provider's report is what bills. */
    "compression.applied": Static<typeof Applied>;
  }
}

const Count = Type.Integer({ minimum: 0 });
const Applied = Type.Object(
  {
    toolCallId: Type.String(),
    name: Type.String(),
    contentType: Type.String(),
    method: Type.String(),
    /** Tokens of the result, and of what was shown with its pointer. */
    tokensBefore: Count,
    tokensAfter: Count,
    /** Tokens of the retrieval tool, which the first result of a run that is compressed pays for; 0 afterwards. */
    toolTokens: Count,
    counter: Type.String(),
    exactness: Type.Union([Type.Literal("exact"), Type.Literal("modelled")]),
    basis: Type.Literal("inferred"),
    unit: Type.String(),
    kept: Count,
    dropped: Count,
    losslessToModel: Type.Boolean(),
    recoveryHandle: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
);

const Options = Type.Object({
  minChars: Type.Integer({ minimum: 200, default: 1_000, description: "Characters from which a result is looked at." }),
  skip: Type.Array(Type.String({ enum: [...DETECTED] }), {
    default: [],
    description: "Content types that a run leaves as they are.",
  }),
});

interface State {
  /** Compressors that came before the engine was made. */
  readonly registered: Compressor[];
  engine: Engine | undefined;
}

/** Detection, the engine and the output stage, once a run with this plugin was first prepared. */
let code: Code | undefined;
type Code = typeof import("./run-engine.ts");
const load = async (): Promise<void> => {
  code = await import("./run-engine.ts");
};
function loaded(): Code {
  if (code) return code;
  throw new CavemanError("cave_plugin_failed", {
    place: "Compression",
    expected: "a run whose plugins are prepared",
    received: "one that is only being made",
  });
}

export const compression = definePlugin({
  name: "compression",
  description: "Shows the model a smaller view of long tool results; the exact originals can be fetched back.",
  options: Options,
  runOptions: Type.Object({ compression: Type.Optional(Type.Literal(false)) }),
  facts: { "compression.applied": Applied },
  errors,
  commands: () => import("./commands.ts"),
  prepare: () => (code ? undefined : load()),
  controls: (run) => ({ compression: run.options.compression === false ? "absent" : "active" }),
  apply(kernel, options) {
    const stateOf = kernel.perRun((): State => ({ registered: [], engine: undefined }));
    const engineOf = (run: Run): Engine => {
      const state = stateOf(run);
      return (state.engine ??= loaded().engineFor(run, state.registered));
    };
    kernel.provide(Compression, (run) => ({
      register(compressor) {
        const { engine, registered } = stateOf(run);
        if (engine) engine.registry.register(checked(compressor));
        else registered.push(checked(compressor));
      },
      types: () => engineOf(run).registry.list(),
      detect: (text) => engineOf(run).detect(text),
      async compress(text, how) {
        if (!code) await load();
        return engineOf(run).compress(text, how);
      },
    }));

    let outputs: OutputCompression | undefined;
    // Before the stage that places results: what is still too long once it is compressed is cut there.
    kernel.hooks.admitTool.tap({ name: "compression", stage: "policy" }, (call) => {
      // What a composite tool calls goes to its code, not to the model.
      if (call.parent || isOff(call.run)) return;
      outputs ??= new (loaded().OutputCompression)(engineOf, options);
      call.output(outputs.stage);
    });
  },
});

function isOff(run: Run): boolean {
  for (let at: Run | undefined = run; at; at = at.parent) if (at.options.compression === false) return true;
  return false;
}

function checked(compressor: Compressor): Compressor {
  const { type, keeps, compress } = compressor ?? {};
  if (
    typeof type === "string" &&
    /^[a-z][a-z0-9-]{0,63}$/.test(type) &&
    typeof keeps === "string" &&
    typeof compress === "function"
  )
    return compressor;
  throw new CavemanError("cave_compressor_invalid", {
    place: "Compression.register()",
    received: JSON.stringify(type) ?? typeof type,
  });
}
