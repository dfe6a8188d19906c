// The model is left to what is there: CAVE_MODEL, a provider's key, or the script beside this file.
export default {
  reasoning: "low",
  // Orders and refunds live in this process (orders.ts), so the tools run in it too.
  sandbox: "host",
};
