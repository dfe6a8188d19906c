export default {
  description: "Finds out what a carrier currently reports about delays. Give it the carrier's name and the question.",
  sandbox: "host",
};
