import { type Case, notMeasured } from "../case.ts";

/** Rows of the table whose plugins do not exist. */
export default {
  order: 7,
  rows: async () => [
    notMeasured(
      { id: "sandbox.warm", what: "sandboxed tool call, worker started ahead", unit: "ms", bar: 5 },
      "there is no sandbox plugin",
    ),
    notMeasured(
      { id: "sandbox.cold", what: "sandboxed tool call, cold", unit: "ms", bar: 80 },
      "there is no sandbox plugin",
    ),
    notMeasured({ id: "tokens", what: "tokens counted, 1 MB", unit: "ms", bar: 100 }, "there is no token counter"),
  ],
} satisfies Case;
