/**
 * How a command ended, for the person who watches: the model reads it in the result, and no event carries it. It is
 * read from the end of the result, where the `bash` tool writes it when a command did not end well.
 */
import { type Static, Type } from "@sinclair/typebox";
import { definePlugin } from "../../kernel/index.ts";
import { errors } from "./errors.ts";

declare module "../../kernel/ledger.ts" {
  interface Facts {
    /** A `bash` call that ended otherwise than with exit code 0. */
    "coding.command_failed": Static<typeof CommandFailed>;
  }
}
const CommandFailed = Type.Object(
  { toolCallId: Type.String(), status: Type.String() },
  { additionalProperties: false },
);

const STATUS = /(?:^|\n)\[(?<status>exit code (?:\d+|unknown)|ended by [A-Z0-9]+|timed out|ended)(?:[;: ][^\]\n]*)?\]$/;

/** The status a result of `bash` ends with; undefined for a command that ended well. */
export const statusOf = (result: unknown): string | undefined =>
  typeof result === "string" ? STATUS.exec(result.slice(-300))?.groups?.status : undefined;

export const coding = definePlugin({
  name: "coding",
  description: "Records how commands end, so that a session can show it.",
  facts: { "coding.command_failed": CommandFailed },
  errors,
  apply(kernel) {
    kernel.hooks.admitTool.tap({ name: "coding:command-status", stage: "place" }, (call) => {
      if (call.name !== "bash" || !call.tool || call.problem) return undefined;
      call.output((output, { run, toolCallId }, raw) => {
        const status = statusOf(raw);
        if (status !== undefined) run.record("coding.command_failed", { toolCallId, status });
        return output;
      });
      return undefined;
    });
  },
});
