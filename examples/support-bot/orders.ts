/** The shop's data. A real agent asks a database here. Money is in cents. */
export interface Order {
  readonly id: string;
  readonly item: string;
  readonly carrier: string;
  readonly status: "delivered" | "in_transit" | "preparing";
  readonly daysLate: number;
  readonly totalCents: number;
}

const list: readonly Order[] = [
  { id: "A-123", item: "walnut desk lamp", carrier: "northline", status: "in_transit", daysLate: 9, totalCents: 8_900 },
  { id: "A-124", item: "linen notebook", carrier: "northline", status: "in_transit", daysLate: 2, totalCents: 1_450 },
  { id: "A-125", item: "brass hook", carrier: "harbour-post", status: "delivered", daysLate: 0, totalCents: 1_200 },
];

export const orders: ReadonlyMap<string, Order> = new Map(list.map((order) => [order.id, order]));

/** Refunds by order id; they last as long as the process. */
export const refunds = new Map<
  string,
  { readonly refundId: string; readonly amountCents: number; readonly reason: string }
>();
