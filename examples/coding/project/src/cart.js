import { percentOf } from "./money.js";

/** What a cart costs in cents. A voucher takes its percentage off the goods; shipping is free from 5,000 cents. */
export function total(items, voucherPercent = 0) {
  const goods = items.reduce((sum, item) => sum + item.cents * item.count, 0);
  const reduced = goods - percentOf(goods, voucherPercent);
  return reduced + shipping(goods);
}

/** Shipping in cents for goods that cost so much. */
export function shipping(cents) {
  return cents > 5000 ? 0 : 490;
}
