/** Compaction's rows of the error table. */
export const errors = {
  cave_compaction_option_invalid: {
    meaning: "A compaction option has a value that it cannot have.",
    remedy: "Give positive whole numbers, and summarizerModel as provider/model.",
  },
  cave_context_compacted: {
    meaning: "Earlier messages left the model's view to make room.",
    remedy: "Nothing to do: see compactions on the receipt; the view says how the originals are read back.",
  },
  cave_compaction_discarded: {
    meaning: "A summary was paid for and not used, because it could not be trusted or did not shrink the view.",
    remedy: "The view stands as it was. If it happens often, name another summarizerModel or raise summaryMaxTokens.",
  },
  cave_compaction_unrecoverable: {
    meaning: "Messages left the model's view and no store keeps them for it.",
    remedy: "Load the recovery plugin, so that the model can read back what was summarised.",
  },
  cave_compaction_summarizer_unavailable: {
    meaning: "summarizerModel cannot be used, so the run's own model writes the summary.",
    remedy: "Name a model that resolves and whose context window takes the history.",
  },
  cave_compaction_summary_timeout: {
    meaning: "The summary took longer than summaryTimeoutMs.",
    remedy: "The view stands as it was. Raise summaryTimeoutMs, or name a faster summarizerModel.",
  },
  cave_compaction_fixture_invalid: {
    meaning: "A fixture of the compaction harness has the wrong shape.",
    remedy: "Give an id, generations of messages that are legal one after another, and commitments that occur in them.",
  },
} as const;
