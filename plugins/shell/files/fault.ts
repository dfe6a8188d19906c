/**
 * What the file workers fail with. They load no more than they must, so the coded error a model reads is made on the
 * other side, from this.
 */
import type { errors } from "../errors.ts";

export type FaultCode = keyof typeof errors;

export class FileFault extends Error {
  readonly code: FaultCode;
  constructor(code: FaultCode, message: string) {
    super(message);
    this.code = code;
  }
}

export const errnoOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error && typeof error.code === "string" ? error.code : "";

const OF_ERRNO: Readonly<Record<string, FaultCode>> = {
  ENOENT: "cave_path_not_found",
  ENOTDIR: "cave_path_not_found",
  EACCES: "cave_path_denied",
  EPERM: "cave_path_denied",
  EROFS: "cave_path_denied",
  EISDIR: "cave_path_not_file",
  ENXIO: "cave_path_not_file",
  ENAMETOOLONG: "cave_path_invalid",
  ELOOP: "cave_path_outside_workspace",
};

/** A fault of whatever a file operation threw; `path` is as the model wrote it. */
export function faultOf(error: unknown, path: string): FileFault {
  if (error instanceof FileFault) return error;
  const errno = errnoOf(error);
  if (errno === "ELOOP") return new FileFault("cave_path_outside_workspace", leadsAway(path));
  const code = OF_ERRNO[errno] ?? "cave_file_operation_failed";
  return new FileFault(code, `${shown(path)}: ${errno || "an unreadable failure"}`);
}

/** One wording for every link that may not be followed, so that an answer tells nothing of what lies outside. */
export const leadsAway = (path: string): string => `${shown(path)} leads out of the workspace, to itself, or nowhere`;

/** A path as it may stand in a message: quoted, one line, not endless. */
export const shown = (path: string): string => JSON.stringify(path.length > 200 ? `${path.slice(0, 200)}…` : path);
