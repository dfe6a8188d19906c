/** What other plugins and users see of compression, as types. */
export type { CompressContext, Compressed, Compressor } from "./compressor.ts";
export type { ContentType, DetectedType, ForcedType } from "./content-type.ts";
export type { CompressOptions, Reason, Report, Result } from "./engine.ts";
