/** Context editing's rows of the error table. */
export const errors = {
  cave_context_edit_option_invalid: {
    meaning: "An option of context editing has a value that it cannot have.",
    remedy: 'Give machine "cc" or "off", positive whole numbers, and tool names as a list of text.',
  },
  cave_context_window_clamped: {
    meaning: "autoCompactTokens is above the model's context window, so the window was taken instead.",
    remedy: "Lower autoCompactTokens below the context window, or leave it out.",
  },
  cave_context_cleared: {
    meaning: "Old tool results were cleared from the model's view to make room.",
    remedy: "Nothing to do: each marker says how its result is read back.",
  },
} as const;
