/** The breakers' rows of the error table. */
export const errors = {
  cave_tool_call_loop_nudge: {
    meaning: "The same tool calls keep giving the same results.",
    remedy:
      "Change the arguments, use another tool, or answer with what is known; a tool that is meant to be repeated declares allowRepeat.",
  },
  cave_tool_call_loop_detected: {
    meaning: "The same tool calls went on giving the same results after a warning.",
    remedy: "See breakers on the receipt; a tool that is meant to be repeated declares allowRepeat.",
  },
  cave_no_progress_nudge: {
    meaning: "The last turns said and found the same.",
    remedy: "Try another way, or answer with what is known.",
  },
  cave_no_progress: {
    meaning: "Turns went on saying and finding the same after a warning.",
    remedy: "See breakers on the receipt; raise noProgressTurns, or give the agent tools that tell it more.",
  },
  cave_fan_out_cap_exceeded: {
    meaning: "One answer of the model asked for more tool calls than a turn may.",
    remedy: "Ask for fewer at a time, or raise breakers.maxToolCallsPerTurn.",
  },
} as const;
