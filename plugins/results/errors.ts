/** The rows of the error table that belong to tool results. */
export const errors = {
  cave_tool_result_inline_limit: {
    meaning: "A result that must stay in context whole is over the limit.",
    remedy: "Ask for less, give the tool another result policy, or raise maxInlineBytes.",
  },
  cave_tool_result_limit: {
    meaning: "A result that may lose no byte is over 16 MiB.",
    remedy: "Ask for less, or let the tool write a file and answer with its path.",
  },
  cave_tool_result_requires_recovery: {
    meaning: "A result is over the limit, may lose no byte, and nothing keeps the original for good.",
    remedy: 'Load the recovery plugin, ask for less, or give the tool the result policy "page".',
  },
  cave_tool_result_recovery_mismatch: {
    meaning: "A stored original did not come back byte for byte, so nothing of it was left out.",
    remedy: "Check the recovery store; call the tool again.",
  },
  cave_output_handle_unknown: {
    meaning: "No stored output of this run has this handle; the oldest ones go when the store is full.",
    remedy: "Use a handle from this run, or call the tool again.",
  },
  cave_output_offset_invalid: {
    meaning: "The stored output has no such line or column.",
    remedy: "Use an offset within its lines.",
  },
} as const;
