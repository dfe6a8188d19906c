/** The policy's rows of the error table. */
export const errors = {
  cave_tool_denied: {
    meaning: "The policy refused a tool call; what follows the colon says why.",
    remedy: "Do something else, or change the rule, the toolPolicy or the approval.",
  },
  cave_tool_policy_failed: {
    meaning: "toolPolicy threw, or gave no answer in time, so the run ended before the tool.",
    remedy: "See the cause; a policy answers within 10 seconds.",
  },
  cave_tool_policy_decision_invalid: {
    meaning: "toolPolicy gave an answer that cannot be read, so the run ended before the tool.",
    remedy: 'Answer undefined or { allow: true } to admit, { deny: "some_code" } to refuse.',
  },
  cave_tool_policy_reason_invalid: {
    meaning: "A deny code of toolPolicy is not a short identifier, so the run ended before the tool.",
    remedy: "Use lower-case letters, digits and underscores, a letter first, at most 64.",
  },
  cave_policy_rule_invalid: {
    meaning: "A rule of the policy cannot be used.",
    remedy: "Correct the named rule.",
  },
  cave_approval_failed: {
    meaning: "The approve callback threw or gave an answer that cannot be read; the call was refused.",
    remedy: 'Answer "yes", "no" or "always".',
  },
  cave_policy_speculation_denied: {
    meaning: "A call that needs an answer from elsewhere is not started ahead of its turn.",
    remedy: "Nothing to do; it is decided when its turn comes.",
  },
} as const;
