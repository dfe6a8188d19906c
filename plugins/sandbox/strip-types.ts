/** TypeScript without its types, as Node runs it: each erased character becomes a space, so that positions stay. */
import { stripTypeScriptTypes } from "node:module";

/** @throws Error for syntax that cannot be erased, such as an enum. */
export function stripTypes(source: string): string {
  // Node warns once that this function is experimental; whoever runs an agent can do nothing about that.
  const { emitWarning } = process;
  process.emitWarning = () => undefined;
  try {
    return stripTypeScriptTypes(source);
  } finally {
    process.emitWarning = emitWarning;
  }
}
