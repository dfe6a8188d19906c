/** Where the parser cannot be loaded code stays as it is. */
import { expect, jest, test } from "@jest/globals";
import { sources } from "./corpus/sources.ts";

jest.unstable_mockModule("web-tree-sitter", () => {
  throw new Error("no parser here");
});

test("without the parser every source passes through, and nothing is thrown", async () => {
  const { code } = await import("../../../plugins/compression/code/code.ts");
  const { grammarOf } = await import("../../../plugins/compression/code/grammars.ts");
  expect(await grammarOf("python")).toBeUndefined();
  for (const { text } of sources())
    expect(await code.compress(text, { query: "", inner: async () => undefined })).toBeUndefined();
});
