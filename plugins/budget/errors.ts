/** The budget's rows of the error table. */
export const errors = {
  cave_budget_denomination_ambiguous: {
    meaning: "A budget states neither unit, or both.",
    remedy: "Give exactly one of maxUsd and maxTokens, and the initial amount in the same unit.",
  },
  cave_budget_max_invalid: {
    meaning: "The maximum of a budget is not a positive amount.",
    remedy: "Give positive dollars, or a positive whole number of tokens.",
  },
  cave_budget_initial_invalid: {
    meaning: "The initial amount of a budget is not positive, or passes the maximum.",
    remedy: "Give a positive amount up to the maximum.",
  },
  cave_budget_output_floor_invalid: {
    meaning: "The output floor is not a positive whole number of tokens.",
    remedy: "Give a positive whole number; the default is 256.",
  },
  cave_budget_on_exhausted_invalid: {
    meaning: "onExhausted is neither compact nor stop.",
    remedy: "Give compact or stop.",
  },
  cave_budget_conflicting_cap: {
    meaning: "budget and maxCostUsd are two caps on one run.",
    remedy: "Keep one of them.",
  },
  cave_budget_denomination_unavailable: {
    meaning: "This model or credential cannot be held to dollars.",
    remedy: "Use budget.maxTokens, or a priced model on a metered credential.",
  },
  cave_budget_tool_unbounded: {
    meaning: "A tool that the provider executes has no bound.",
    remedy: "Remove it, or run without a budget.",
  },
  cave_budget_input_unbounded: {
    meaning: "Nothing bounds the input of the call.",
    remedy: "Send the text of a document, or use a model whose context window is known.",
  },
  cave_budget_release_invalid: {
    meaning: "The amount to release is not positive.",
    remedy: "Release positive dollars, or a positive whole number of tokens.",
  },
  cave_budget_release_reason_required: {
    meaning: "A release gives no reason.",
    remedy: "Say why in a few words; the receipt shows them.",
  },
  cave_budget_release_exceeds_max: {
    meaning: "A release would pass the budget's maximum.",
    remedy: "Release at most what is left of the maximum.",
  },
  cave_budget_revoked: { meaning: "The budget was revoked.", remedy: "Start a new run." },
  cave_budget_cap_breached: {
    meaning: "More was spent than could be bounded.",
    remedy: "See overspent on the receipt; the provider billed more than the request allowed.",
  },
  cave_budget_exhausted: {
    meaning: "Nothing that is left of the budget pays for the next step.",
    remedy: "Raise the budget, release a tranche, or answer with what is known.",
  },
  cave_budget_reservation_double_settle: {
    meaning: "A reservation was closed twice.",
    remedy: "Close each reservation once.",
  },
  cave_budget_controller_unbound: {
    meaning: "The budget controller is not bound to a live run.",
    remedy: "Use it while its run is live.",
  },
  cave_budget_controller_in_use: {
    meaning: "The budget controller drives another live run.",
    remedy: "Make one controller for each run.",
  },
  cave_budget_controller_without_budget: {
    meaning: "A budget controller or handler came without a budget.",
    remedy: "Pass budget beside it.",
  },
  cave_budget_escalation_result_invalid: {
    meaning: "The answer of onBudgetExhausted cannot be read.",
    remedy: 'Answer "stop" or { release, reason }.',
  },
  cave_run_cost_budget_exceeded: {
    meaning: "The next call could cost more than what is left of maxCostUsd.",
    remedy: "Raise maxCostUsd, or use budget for a graceful stop.",
  },
  cave_subagent_wallet_denomination_unavailable: {
    meaning: "A subagent declares its cap in the unit the run's budget is not stated in.",
    remedy: "Declare maxTokens under a token budget, maxCostUsd under a dollar budget.",
  },
  cave_subagent_wallet_unavailable: {
    meaning: "What is left cannot fund the whole wallet of a subagent.",
    remedy: "Raise the budget, or declare a smaller wallet.",
  },
} as const;
