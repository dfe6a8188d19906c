import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { scrubber } from "../../../plugins/providers/scrub.ts";

const KEY = "sk-proj-0123456789+abc/DEF";
const clean = scrubber([KEY]);

describe("a key in a vendor's words", () => {
  test.each([
    ["whole", `bad key ${KEY}.`, "bad key [redacted]."],
    ["in a URL", `at ?key=${encodeURIComponent(KEY)}&x`, "at ?key=[redacted]&x"],
    ["cut short", `bad key ${KEY.slice(0, 20)}…`, "bad key [redacted]…"],
    ["cut short in a URL", `at ?key=${encodeURIComponent(KEY).slice(0, 24)}`, "at ?key=[redacted]"],
    ["twice", `${KEY.slice(0, 13)} and ${KEY}`, "[redacted] and [redacted]"],
    ["by the letters of its kind", "keys begin with sk-proj-", "keys begin with sk-proj-"],
  ])("%s is removed where it tells anything", (_, said, expected) => expect(clean(said)).toBe(expected));

  test("leaves no beginning of twelve characters, wherever it stands and however often", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.nat({ max: KEY.length }).map((end) => KEY.slice(0, end)),
            fc.string({ maxLength: 5 }),
          ),
        ),
        (parts) => !clean(parts.join("")).includes(KEY.slice(0, 12)),
      ),
    );
  });
  test("a short key is removed whole, and no key is no work", () => {
    expect(scrubber(["abc"])("x abc ab")).toBe("x [redacted] ab");
    expect(scrubber([""])("x")).toBe("x");
  });
});
