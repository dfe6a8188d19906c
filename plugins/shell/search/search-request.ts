/** Which files a search looks through. It stands alone, so that asking loads nothing of what searches. */
import type { FilesRequest } from "../files/protocol.ts";

/** Files that one search looks at. */
export const MAX_FILES = 200_000;

export const searchRequest = (request: { readonly path: string; readonly glob?: string }): FilesRequest => ({
  kind: "files",
  path: request.path,
  limit: MAX_FILES,
  searchable: true,
  ...(request.glob === undefined ? {} : { glob: request.glob }),
});
