/** For your own tests: a scripted model, and a loopback server that speaks the vendors' wire formats. */
export * from "./providers/scripted/index.ts";
