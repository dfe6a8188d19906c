import { schema, tool } from "caveman-agent";
import { orders, refunds } from "../orders.ts";

export default tool({
  name: "lookup_order",
  description:
    "Looks up an order by its number: item, carrier, status, days late, total in cents, and its refund if there is one.",
  input: schema.object({ orderId: schema.string({ pattern: "^A-[0-9]{3}$" }) }),
  effect: "read",
  execute: ({ orderId }) => {
    const order = orders.get(orderId);
    return order ? { found: true, ...order, refund: refunds.get(orderId) ?? null } : { found: false, id: orderId };
  },
});
