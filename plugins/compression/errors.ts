export const errors = {
  cave_compressor_invalid: {
    meaning: "A compressor has no type, no word on what it keeps, or no compress function.",
    remedy: "Give { type, keeps, compress }, with a type of lowercase letters, digits and hyphens.",
  },
  cave_compression_failed: {
    meaning: "A compressor failed on a tool's result, which was shown as it was.",
    remedy: "Nothing is lost. If it is a compressor of yours, make it answer undefined for what it cannot read.",
  },
  cave_input_too_large: {
    meaning: "The input is larger than 64 MiB.",
    remedy: "Give a part of it. `caveman compress` passes a larger input through as it is.",
  },
  cave_content_type_unknown: {
    meaning: "No compressor has this content type.",
    remedy: "Run caveman engine registry to see the types.",
  },
};
