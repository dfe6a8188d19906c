/** Limits of calls that their tools state as well. They stand alone, so that stating one loads nothing of what works. */

/** Longest time of one command of `bash`, in milliseconds. */
export const BASH_MS = 120_000;
/** What a backend may take beyond its time before it counts as lost, in milliseconds. */
export const BACKEND_GRACE_MS = 5_000;
/** Milliseconds after which the thread of a file call is ended. */
export const FILE_MS = 20_000;
/** Matches that one search returns. */
export const MAX_MATCHES = 200;
