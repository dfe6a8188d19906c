import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { caveman, folder, install, node, ROOT } from "./caveman.ts";

describe("init", () => {
  test("writes a project that type-checks, runs offline at once and passes its own test", async () => {
    await using dir = await folder();
    const ran = await caveman(["init", "My Shop"], { cwd: dir.path });
    expect(ran.code).toBe(0);
    const project = join(dir.path, "My Shop");
    expect(ran.out).toBe(`${project}\n`);
    expect((await readdir(project)).sort()).toEqual([
      ".gitignore",
      "AGENTS.md",
      "agent.ts",
      "caveman.config.ts",
      "instructions.md",
      "model.script.ts",
      "package.json",
      "skills",
      "tests",
      "tools",
      "tsconfig.json",
    ]);
    expect(JSON.parse(await readFile(join(project, "package.json"), "utf8"))).toMatchObject({
      name: "my-shop",
      type: "module",
    });

    await install(project);
    const answer = await caveman(["run", ".", "Where is order A-1001?"], { cwd: project });
    expect(answer).toMatchObject({ code: 0, out: "Your order has shipped and is on its way.\n" });
    expect(answer.err).toContain("✓ lookup_order");
    const [own, types] = await Promise.all([
      node(["--test", "tests/agent.test.ts"], project),
      node(
        [join(ROOT, "node_modules/typescript/bin/tsc"), "--noEmit", "--customConditions", "caveman-source"],
        project,
      ),
    ]);
    // Here the package's own sources are checked along; under the project's settings only its own files count.
    expect(types.out.split("\n").filter((line) => /^[^.\s]/.test(line))).toEqual([]);
    expect(own.out).toContain("pass 1");
    expect(own.code).toBe(0);
    expect((await caveman(["plugins"], { cwd: project })).code).toBe(0);
  });

  test("takes an empty directory, and refuses one with anything in it", async () => {
    await using dir = await folder();
    await mkdir(join(dir.path, "empty"));
    expect((await caveman(["init", "empty"], { cwd: dir.path })).code).toBe(0);
    await mkdir(join(dir.path, "full"));
    await writeFile(join(dir.path, "full/mine.txt"), "mine");
    const refused = await caveman(["init", "full"], { cwd: dir.path });
    expect(refused).toMatchObject({ code: 2, out: "" });
    expect(refused.err).toContain("cave_init_not_empty");
    expect(await readdir(join(dir.path, "full"))).toEqual(["mine.txt"]);
    expect((await caveman(["init", "full/mine.txt"], { cwd: dir.path })).code).toBe(2);
    expect((await readdir(dir.path)).filter((name) => name.startsWith(".caveman-init"))).toEqual([]);
  });

  test("makes the folders above its target for everyone its user lets in", async () => {
    await using dir = await folder();
    expect((await caveman(["init", "a/b/shop"], { cwd: dir.path })).code).toBe(0);
    const mode = async (path: string) => (await stat(join(dir.path, path))).mode & 0o777;
    expect([await mode("a"), await mode("a/b")]).toEqual([await mode("a/b/shop"), await mode("a/b/shop")]);
  });

  test("where no folder can be made it fails, and does not wait for ever", async () => {
    if (process.platform !== "linux") return;
    const failed = await caveman(["init", "/proc/nowhere/deep/shop"]);
    expect(failed.code).not.toBe(0);
    expect(failed.err).toContain("cave_init_failed");
  });
});
