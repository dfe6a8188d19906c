import assert from "node:assert/strict";
import { test } from "node:test";
import { shipping, total } from "../src/cart.js";

test("a cart is the sum of its items and shipping", () => {
  assert.equal(total([{ cents: 1200, count: 2 }]), 2890);
});

test("a voucher takes its percentage off the goods", () => {
  assert.equal(total([{ cents: 10000, count: 1 }], 15), 8500);
});

test("shipping is free from 5,000 cents on", () => {
  assert.equal(shipping(4999), 490);
  assert.equal(shipping(5000), 0);
});
