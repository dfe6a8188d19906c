/** The memory plugin's rows of the error table. */
export const errors = {
  cave_memory_ttl_invalid: {
    meaning: "A time to live is not a positive number of minutes, hours or days.",
    remedy: "Write it as 30m, 12h or 30d.",
  },
  cave_memory_provenance_unsupported: {
    meaning: "Only memory of local provenance is kept.",
    remedy: 'Leave provenance out, or set it to "local".',
  },
  cave_memory_consent_unsupported: {
    meaning: "Only memory that stays on this machine is kept.",
    remedy: 'Leave consent out, or set it to "local_only".',
  },
  cave_memory_shared_backend_unavailable: {
    meaning: "A memory that is shared was declared, and there is no backend that shares one.",
    remedy: "Declare it with memory({ namespace }).",
  },
  cave_memory_tenant_invalid: {
    meaning: "A tenant's name cannot be used.",
    remedy: "Use letters, digits, dots, dashes and underscores, a letter or digit first, at most 96.",
  },
  cave_memory_agent_invalid: {
    meaning: "An agent's id cannot be used as a scope.",
    remedy: "Use small letters, digits, dashes and underscores, a letter or digit first, at most 96.",
  },
  cave_memory_namespace_invalid: {
    meaning: "A namespace cannot be used.",
    remedy: "Use letters, digits, dots, dashes and underscores, a letter or digit first, at most 96.",
  },
  cave_memory_recall_budget_invalid: {
    meaning: "A recall budget is not a whole number of tokens.",
    remedy: "Give a positive whole number of tokens, for example 800.",
  },
  cave_memory_value_invalid: {
    meaning: "A text cannot be remembered: it is empty, too long, or no text.",
    remedy: "Remember one fact in a few sentences.",
  },
  cave_memory_secret_refused: {
    meaning: "The text looks as if it held a credential, so it was neither stored nor indexed.",
    remedy: "Say where the secret is kept instead of what it is.",
  },
  cave_memory_unknown: {
    meaning: "No memory has this id or handle in this scope.",
    remedy: "List or search first, and copy the id whole.",
  },
  cave_memory_superseded: {
    meaning: "A memory that was replaced already cannot be replaced once more.",
    remedy: "Replace the current one; its history names it.",
  },
  cave_memory_history_cycle: {
    meaning: "The versions of a memory form a circle, so the store was changed from outside.",
    remedy: "Forget one of the versions that the message names.",
  },
  cave_memory_link_invalid: {
    meaning: "A link needs two memories of this scope and a known relation.",
    remedy: "Use relates_to, supersedes, contradicts or derived_from between two different ids.",
  },
  cave_memory_scope_mismatch: {
    meaning: "The memory engine of a run was made for another agent or namespace.",
    remedy: "Make the engine with the agent's id and its declared namespace.",
  },
  cave_memory_storage_unavailable: {
    meaning: "The memory's file cannot be used.",
    remedy: "Free space, unlock or make the file writable, or choose another root.",
  },
  cave_memory_storage_corrupt: {
    meaning: "The memory's file is damaged.",
    remedy: "Move it away to start anew; nothing of it was shown.",
  },
  cave_memory_storage_unsafe: {
    meaning: "The memory's file or folder could be read or replaced by others.",
    remedy: "Use a folder only you can write, and no symbolic link.",
  },
  cave_memory_embedding_failed: {
    meaning: "The embedding service gave no usable vectors.",
    remedy: "Check its address, key and model; recall goes on by words.",
  },
} as const;
