/** Turns in a row that said and got the same, against turns written out and compared as text. */
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { Content } from "../../../plugins/breakers/digest.ts";
import { Progress } from "../../../plugins/breakers/progress.ts";

interface Said {
  readonly name: string;
  readonly text: string;
  /** As one that was taken up again holds it, by its digest. */
  readonly saved: boolean;
}
const part: fc.Arbitrary<Said> = fc.record({
  name: fc.constantFrom("look", "find"),
  text: fc.constantFrom("a", "b"),
  saved: fc.boolean(),
});
const turn = fc.record({
  say: fc.constantFrom("on", "on", "on", "off"),
  parts: fc.oneof(
    { weight: 3, arbitrary: fc.constant<Said[]>([{ name: "look", text: "a", saved: false }]) },
    fc.array(part, { minLength: 1, maxLength: 3 }),
  ),
  /** What happens after the turn. */
  after: fc.constantFrom("nothing", "nothing", "nothing", "reset", "save"),
});

test("are counted whatever was reset or saved between them, and one told of before it is over is told right", () => {
  const seen = { equal: 0, afterSave: 0, shorter: 0 };
  fc.assert(
    fc.property(fc.array(turn, { minLength: 2, maxLength: 12, size: "max" }), (turns) => {
      let progress = new Progress();
      let [before, count, saved] = ["", 0, false];
      for (const { say, parts, after } of turns) {
        const given = parts.map(({ name, text, saved: byDigest }) => {
          const content = Content.of(text);
          return { name, result: byDigest ? Content.saved(content.digest) : content };
        });
        const written = JSON.stringify([say, parts.map(({ name, text }) => [name, text])]);
        const same = count > 0 && written === before;
        if (count > 0 && JSON.parse(before)[1].length > parts.length) seen.shorter++;
        expect(progress.same(say, given)).toBe(same);
        count = same ? count + 1 : 1;
        if (same) seen.equal++;
        if (same && saved) seen.afterSave++;
        expect(progress.turn(say, given)).toBe(count);
        [before, saved] = [written, after === "save"];
        if (after === "reset") {
          progress.reset();
          count = 0;
        } else if (after === "save") progress = new Progress(JSON.parse(JSON.stringify(progress)));
      }
    }),
    { numRuns: 500 },
  );
  for (const times of Object.values(seen)) expect(times).toBeGreaterThan(50);
});
