import { defineConfig, definePlugin, schema } from "caveman-agent";

export const officeHours = definePlugin({
  name: "office-hours",
  options: schema.object({
    from: schema.integer({ default: 9 }),
    to: schema.integer({ default: 17 }),
    at: schema.optional(schema.string()),
  }),
  apply(kernel, { from, to, at }) {
    kernel.hooks.admitTool.tap({ name: "office-hours", stage: "policy" }, (call) => {
      const hour = new Date(at ?? kernel.clock.now()).getHours();
      if (call.tool?.effect !== "write" || (hour >= from && hour < to)) return undefined;
      return { deny: { code: "office_hours_closed", message: `Writes are allowed from ${from}:00 to ${to}:00.` } };
    });
  },
});

// `at` fixes the clock, so that the demonstration is the same at any hour. Remove it to use the real time.
export default defineConfig({ plugins: [officeHours({ at: "2026-01-05T22:00:00" })] });
