import { schema, tool } from "caveman-agent";
import { orders, refunds } from "../orders.ts";

export default tool({
  name: "issue_refund",
  description: "Refunds an order, in full or in part. Only when the refund policy allows it.",
  input: schema.object({
    orderId: schema.string({ pattern: "^A-[0-9]{3}$" }),
    amountCents: schema.integer({ minimum: 1 }),
    reason: schema.string({ minLength: 3 }),
  }),
  effect: "write",
  execute: ({ orderId, amountCents, reason }) => {
    const order = orders.get(orderId);
    if (!order) throw new Error(`There is no order ${orderId}.`);
    if (refunds.has(orderId)) throw new Error(`Order ${orderId} is already refunded.`);
    if (amountCents > order.totalCents)
      throw new Error(`Order ${orderId} cost ${order.totalCents} cents; ${amountCents} is more than that.`);
    const refund = { refundId: `R-${orderId}`, amountCents, reason };
    refunds.set(orderId, refund);
    return refund;
  },
});
