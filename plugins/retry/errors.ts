/** The retry plugin's rows of the error table. */
export const errors = {
  cave_retry_billed: {
    meaning: "A failed attempt may have been billed, so it was not repeated.",
    remedy: "Run again if the work is worth paying for twice, or set retry.repeatBilled.",
  },
  cave_retry_fallback_unavailable: {
    meaning: "A fallback model cannot be called.",
    remedy: "Check its name and its credentials; the next one in the list was tried.",
  },
} as const;
