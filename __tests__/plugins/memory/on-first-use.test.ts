import { expect, test } from "@jest/globals";
import { OnFirstUse } from "../../../plugins/memory/on-first-use.ts";
import { rejection } from "./world.ts";

test("is loaded once, however many wait for it, and is at hand from then on", async () => {
  let loads = 0;
  const late = new OnFirstUse(async () => ++loads);
  expect(late.loaded).toBeUndefined();
  expect(late.loading).toBeUndefined();
  expect(await Promise.all([late.use((n) => n), late.use((n) => n)])).toEqual([1, 1]);
  expect(late.use((n) => n)).toBe(1);
});

test("that cannot be loaded is a coded error to each who waits, and is tried again", async () => {
  let broken = true;
  const late = new OnFirstUse(async () => {
    if (broken) throw new Error("no such file");
    return "there";
  });
  const waiting = [late.use((it) => it), late.use((it) => it)].map((each) => rejection(Promise.resolve(each)));
  expect(await Promise.all(waiting)).toEqual(["cave_memory_storage_unavailable", "cave_memory_storage_unavailable"]);
  broken = false;
  expect(await late.use((it) => it)).toBe("there");
});
