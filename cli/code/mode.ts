/** How much a session may do without asking. */
import type { RunOptions } from "../../index.ts";
import type { ApprovalRequest } from "../../plugins/coding/index.ts";

export const MODES = {
  ask: "asks before every change and every command",
  edits: "changes files of the workspace without asking, hidden ones aside; asks before every command",
  observe: "only looks: changes and commands are refused",
} as const;
export type Mode = keyof typeof MODES;
export const isMode = (name: string): name is Mode => Object.hasOwn(MODES, name);

type ToolPolicy = NonNullable<RunOptions["toolPolicy"]>;
type PolicyInput = Parameters<ToolPolicy>[0];

/** The run option that holds a session to its mode; `seen` is told of every call before it is decided. */
export const policyOf =
  (mode: () => Mode, seen: (call: PolicyInput) => void): ToolPolicy =>
  (call) => {
    seen(call);
    return mode() === "observe" && call.effect !== "read" ? { deny: "observe_only" } : undefined;
  };

/** Whether the mode itself is the person's yes to this call. */
export const permits = (mode: Mode, { name, about }: ApprovalRequest): boolean =>
  mode === "edits" &&
  /^(edit_file|write_file)$/.test(name) &&
  about.length > 0 &&
  // Hidden folders hold hooks and settings that others run.
  about.every((path) => !path.split(/[/\\]/).some((part) => part.startsWith(".") && part !== "."));
