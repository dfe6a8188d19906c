import { schema, tool } from "caveman-agent";

const notices: Readonly<Record<string, readonly string[]>> = {
  northline: ["Flooding closed the Ostwick depot; parcels through it are held for up to two weeks."],
};

export default tool({
  name: "search_notices",
  description: "The current notices of a carrier, newest first.",
  input: schema.object({ carrier: schema.string({ minLength: 1 }) }),
  effect: "read",
  execute: ({ carrier }) => ({ carrier, notices: notices[carrier] ?? [] }),
});
