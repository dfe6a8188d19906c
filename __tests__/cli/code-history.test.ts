import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { History } from "../../cli/code/history.ts";
import { workspace } from "../coding/workspaces.ts";

test("history is kept between sessions, bounded, private, without repeats", async () => {
  await using folder = await workspace();
  const one = await History.of(folder.path);
  for (let line = 0; line < 600; line++) one.add(`line ${line}`);
  one.add("line 599");
  one.add("  ");
  one.add("x".repeat(20_000));
  await one.flush();
  const two = await History.of(folder.path);
  expect(two.entries).toHaveLength(500);
  expect([two.entries[0], two.entries.at(-1)]).toEqual(["line 100", "line 599"]);
  expect((await stat(join(folder.path, ".caveman/sessions/history.json"))).mode & 0o777).toBe(0o600);
});

test("a history that cannot be read is an empty one, and none is written where nothing is kept", async () => {
  await using folder = await workspace({ ".caveman/sessions/history.json": "{" });
  expect((await History.of(folder.path)).entries).toEqual([]);
  await writeFile(join(folder.path, ".caveman/sessions/history.json"), '["ok", 3]', { mode: 0o644 });
  expect((await History.of(folder.path)).entries).toEqual([]);
  await using other = await workspace();
  const silent = await History.of(other.path, false);
  silent.add("nothing");
  await silent.flush();
  expect(await readdir(other.path)).toEqual([]);
});
