/** Digests. `node:crypto` is loaded when the first one is made: it is the slowest built-in to start, and few runs need it at once. */
export const sha256 = (text: string): string => process.getBuiltinModule("node:crypto").createHash("sha256").update(text).digest("hex");
