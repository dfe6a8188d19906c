import { agent, schema, tool } from "caveman-agent";

const prices = new Map([["lamp", 8_900]]);

const getPrice = tool({
  name: "get_price",
  description: "The current price of an article, in cents.",
  input: schema.object({ article: schema.string() }),
  effect: "read",
  execute: ({ article }) => ({ article, cents: prices.get(article) ?? null }),
});

const setPrice = tool({
  name: "set_price",
  description: "Sets the price of an article, in cents.",
  input: schema.object({ article: schema.string(), cents: schema.integer({ minimum: 1 }) }),
  effect: "write",
  execute: ({ article, cents }) => {
    prices.set(article, cents);
    return { article, cents };
  },
});

export default agent({
  id: "shopkeeper",
  instructions:
    "You keep the shop's prices. Read a price before you change it. When a change is refused, say why and what the price still is.",
  tools: [getPrice, setPrice],
  sandbox: "host", // the prices live in this process
});
