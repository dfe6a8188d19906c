/** The recovery plugin's rows of the error table. */
export const errors = {
  cave_unknown_handle: {
    meaning: "No original is stored under this handle.",
    remedy: "Copy the handle whole, ccr_ and 32 hex digits, and look in the store it was written to (CAVEMAN_CCR_DB).",
  },
  cave_recovery_handle_out_of_scope: {
    meaning: "This run was never shown that handle.",
    remedy: "Use a handle that stands in a marker of this conversation.",
  },
  cave_recovery_corrupt: {
    meaning: "A stored original is not what was stored, or the store is damaged.",
    remedy: "Nothing was shown of it. Read the source again; move the damaged store file away to start a new one.",
  },
  cave_recovery_not_text: {
    meaning: "The original is not text, so it cannot be shown to a model or searched.",
    remedy: "Run caveman retrieve with the handle to get its bytes.",
  },
  cave_recovery_store_unavailable: {
    meaning: "The store of originals cannot be used, so nothing is left out of what the model reads.",
    remedy: "Free space, unlock or make the file writable, or set CAVEMAN_CCR_DB or CAVEMAN_CCR_MAX_BYTES.",
  },
  cave_recovery_store_unsafe: {
    meaning: "The store of originals, or its folder, could be read or replaced by others.",
    remedy: "Give a regular file of your own, mode 0600, in a folder that only you can write; no symbolic link.",
  },
} as const;
