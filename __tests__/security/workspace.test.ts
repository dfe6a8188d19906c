/**
 * Attempts to leave the workspace through the file tools. Each is made twice: by plain file access, which shows that the
 * attempt is real, and by the tool, which has to refuse it. The secret lies outside; no answer may hold it, and what
 * lies outside may not change.
 */
import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { describe, expect, jest, test } from "@jest/globals";
import { type World, world } from "../plugins/shell/workspaces.ts";

// A generous safety limit: the machine may be busy.
jest.setTimeout(60_000);

const SECRET = "the-secret-of-the-house";
const linux = process.platform === "linux";

interface Attempt {
  readonly name: string;
  /** Sets the trap, and gives the call. */
  readonly make: (at: World) => { readonly tool: string; readonly input: Record<string, unknown> };
  /** What plain file access does with it: has to reach the secret, or to change what lies outside. */
  readonly plainly?: (at: World) => string;
  readonly codes: readonly string[];
  readonly onlyLinux?: boolean;
}

const outside = (at: World): string => join(at.base, "secret.txt");
const AWAY = ["cave_path_outside_workspace"];
const read = (path: string) => ({ tool: "read_file", input: { path } });
const plainRead = (path: string) => (at: World) => readFileSync(join(at.workspace, path), "utf8");
const link = (at: World, name: string, target: string): void => symlinkSync(target, at.path(name));

const attempts: readonly Attempt[] = [
  { name: "read ../secret.txt", make: () => read("../secret.txt"), plainly: plainRead("../secret.txt"), codes: AWAY },
  {
    name: "read with .. in the middle",
    make: (at) => {
      mkdirSync(at.path("a/b"), { recursive: true });
      return read("a/b/../../../secret.txt");
    },
    plainly: plainRead("a/b/../../../secret.txt"),
    codes: AWAY,
  },
  {
    name: "read an absolute path",
    make: (at) => read(outside(at)),
    plainly: (at) => readFileSync(outside(at), "utf8"),
    codes: AWAY,
  },
  {
    name: "read a file beside the workspace whose name begins like it",
    make: (at) => {
      mkdirSync(`${at.workspace}-other`);
      writeFileSync(`${at.workspace}-other/secret.txt`, SECRET);
      return read(`${at.workspace}-other/secret.txt`);
    },
    plainly: (at) => readFileSync(`${at.workspace}-other/secret.txt`, "utf8"),
    codes: AWAY,
  },
  {
    name: "read through a link to the file",
    make: (at) => {
      link(at, "innocent.txt", outside(at));
      return read("innocent.txt");
    },
    plainly: plainRead("innocent.txt"),
    codes: AWAY,
  },
  {
    name: "read through a relative link",
    make: (at) => {
      link(at, "innocent.txt", "../secret.txt");
      return read("innocent.txt");
    },
    plainly: plainRead("innocent.txt"),
    codes: AWAY,
  },
  {
    name: "read through a linked folder",
    make: (at) => {
      link(at, "docs", at.base);
      return read("docs/secret.txt");
    },
    plainly: plainRead("docs/secret.txt"),
    codes: AWAY,
  },
  {
    name: "read through a chain of links",
    make: (at) => {
      link(at, "c", outside(at));
      link(at, "b", "c");
      link(at, "a", "b");
      return read("a");
    },
    plainly: plainRead("a"),
    codes: AWAY,
  },
  {
    name: "read through a link and back out of its folder",
    make: (at) => {
      mkdirSync(join(at.base, "deep/er"), { recursive: true });
      link(at, "in", join(at.base, "deep/er"));
      return read("in/../../secret.txt");
    },
    codes: AWAY,
  },
  {
    name: "read a hard link to the file",
    make: (at) => {
      linkSync(outside(at), at.path("innocent.txt"));
      return read("innocent.txt");
    },
    plainly: plainRead("innocent.txt"),
    codes: ["cave_file_hard_linked"],
  },
  {
    name: "read the environment of this process",
    make: () => read("/proc/self/environ"),
    codes: AWAY,
    onlyLinux: true,
  },
  {
    name: "read /proc through a link in the workspace",
    make: (at) => {
      link(at, "self", "/proc/self");
      return read("self/environ");
    },
    codes: AWAY,
    onlyLinux: true,
  },
  {
    name: "read through /proc/self/cwd",
    make: (at) => read(`/proc/self/root${outside(at)}`),
    plainly: (at) => readFileSync(`/proc/self/root${outside(at)}`, "utf8"),
    codes: AWAY,
    onlyLinux: true,
  },
  {
    name: "read with a NUL that would end the path early",
    make: (at) => read(`${outside(at)}\0.txt`),
    codes: ["cave_path_invalid"],
  },
  { name: "read a file URL", make: (at) => read(`file://${outside(at)}`), codes: ["cave_path_not_found"] },
  { name: "read with backslashes", make: () => read("..\\secret.txt"), codes: ["cave_path_not_found"] },
  { name: "read with encoded dots", make: () => read("%2e%2e/secret.txt"), codes: ["cave_path_not_found"] },
  { name: "read the home of the user by ~", make: () => read("~/.profile"), codes: ["cave_path_not_found"] },
  {
    name: "learn whether a file outside exists",
    make: (at) => read(join(at.base, "is-it-there.txt")),
    codes: AWAY,
  },
  {
    name: "write ../planted.txt",
    make: () => ({ tool: "write_file", input: { path: "../planted.txt", content: "x" } }),
    plainly: (at) => {
      writeFileSync(join(at.workspace, "../planted.txt"), SECRET);
      return readFileSync(join(at.base, "planted.txt"), "utf8");
    },
    codes: AWAY,
  },
  {
    name: "write through a link to the file",
    make: (at) => {
      link(at, "notes.txt", outside(at));
      return { tool: "write_file", input: { path: "notes.txt", content: "x" } };
    },
    plainly: (at) => {
      writeFileSync(at.path("notes.txt"), SECRET);
      return readFileSync(outside(at), "utf8");
    },
    codes: AWAY,
  },
  {
    name: "write through a link to a file that does not exist yet",
    make: (at) => {
      link(at, "notes.txt", join(at.base, "planted.txt"));
      return { tool: "write_file", input: { path: "notes.txt", content: "x" } };
    },
    plainly: (at) => {
      writeFileSync(at.path("notes.txt"), SECRET);
      return readFileSync(join(at.base, "planted.txt"), "utf8");
    },
    codes: AWAY,
  },
  {
    name: "write a new file into a linked folder",
    make: (at) => {
      link(at, "docs", at.base);
      return { tool: "write_file", input: { path: "docs/new/planted.txt", content: "x" } };
    },
    plainly: (at) => {
      mkdirSync(at.path("docs/new"));
      writeFileSync(at.path("docs/new/planted.txt"), SECRET);
      return readFileSync(join(at.base, "new/planted.txt"), "utf8");
    },
    codes: AWAY,
  },
  {
    name: "edit through a link",
    make: (at) => {
      link(at, "notes.txt", outside(at));
      return { tool: "edit_file", input: { path: "notes.txt", old_string: "secret", new_string: "x" } };
    },
    codes: AWAY,
  },
  {
    name: "edit a hard link to the file",
    make: (at) => {
      linkSync(outside(at), at.path("notes.txt"));
      return { tool: "edit_file", input: { path: "notes.txt", old_string: "secret", new_string: "x" } };
    },
    codes: ["cave_file_hard_linked"],
  },
  {
    name: "list the folder above",
    make: () => ({ tool: "list_files", input: { path: ".." } }),
    plainly: (at) => `${SECRET} ${readdirSync(join(at.workspace, "..")).join()}`,
    codes: AWAY,
  },
  {
    name: "list a linked folder",
    make: (at) => {
      link(at, "docs", at.base);
      return { tool: "list_files", input: { path: "docs" } };
    },
    plainly: (at) => `${SECRET} ${readdirSync(at.path("docs")).join()}`,
    codes: AWAY,
  },
  {
    name: "search the folder above",
    make: () => ({ tool: "grep", input: { pattern: "secret", path: ".." } }),
    codes: AWAY,
  },
  {
    name: "search a link to the file",
    make: (at) => {
      link(at, "notes.txt", outside(at));
      return { tool: "grep", input: { pattern: "secret", path: "notes.txt" } };
    },
    codes: AWAY,
  },
];

describe("attempts to leave the workspace", () => {
  for (const attempt of attempts) {
    const run = attempt.onlyLinux && !linux ? test.skip : test;
    run(`${attempt.name} → ${attempt.codes.join(" or ")}`, async () => {
      await using plain = await world();
      writeFileSync(outside(plain), SECRET);
      attempt.make(plain);
      if (attempt.plainly) expect(attempt.plainly(plain)).toContain(SECRET);

      await using at = await world();
      writeFileSync(outside(at), SECRET);
      const { tool, input } = attempt.make(at);
      const before = readdirSync(at.base).sort();
      const answer = await at.call(tool, input);
      expect({
        isError: answer.isError,
        known: attempt.codes.includes(answer.code ?? "none"),
        text: answer.text,
      }).toMatchObject({ isError: true, known: true });
      expect(answer.text).not.toContain(SECRET);
      expect(readFileSync(outside(at), "utf8")).toBe(SECRET);
      expect(readdirSync(at.base).sort()).toEqual(before);
    });
  }
  test("there are at least 25 of them", () => expect(attempts.length).toBeGreaterThanOrEqual(25));

  test("what exists outside and what does not get the same answer", async () => {
    await using at = await world();
    writeFileSync(outside(at), SECRET);
    link(at, "there", outside(at));
    link(at, "not-there", join(at.base, "nothing"));
    const of = async (path: string): Promise<string> =>
      (await at.call("read_file", { path })).text.replace(JSON.stringify(path), "it");
    expect(await of("not-there")).toBe(await of("there"));
    expect(await of("../nothing")).toBe(await of("../secret.txt"));
  });
});

describe("what is inside stays reachable", () => {
  test("links that stay inside are followed, and a write goes to what they name", async () => {
    await using at = await world();
    at.file("real/a.txt", "one\n");
    link(at, "alias", "real");
    link(at, "short.txt", "real/a.txt");
    expect(await at.ok("read_file", { path: "alias/a.txt" })).toBe("1\tone");
    await at.ok("write_file", { path: "short.txt", content: "two\n" });
    expect(readFileSync(at.path("real/a.txt"), "utf8")).toBe("two\n");
  });

  test("absolute paths, dots that stay inside, and a workspace named through a link", async () => {
    await using at = await world();
    at.file("a.txt", "one\n");
    symlinkSync(at.workspace, join(at.base, "named"));
    expect(await at.ok("read_file", { path: at.path("a.txt") })).toBe("1\tone");
    expect(await at.ok("read_file", { path: "x/../a.txt" })).toBe("1\tone");
    await using other = await world({ workspace: join(at.base, "named") });
    expect(await other.ok("read_file", { path: join(at.base, "named/a.txt") })).toBe("1\tone");
    expect(await other.ok("read_file", { path: at.path("a.txt") })).toBe("1\tone");
  });

  test("a write over a hard link leaves its other names alone", async () => {
    await using at = await world();
    writeFileSync(outside(at), SECRET);
    linkSync(outside(at), at.path("mine.txt"));
    await at.ok("write_file", { path: "mine.txt", content: "new" });
    expect(readFileSync(outside(at), "utf8")).toBe(SECRET);
    expect(readFileSync(at.path("mine.txt"), "utf8")).toBe("new");
  });

  test.each(["/", ...(linux ? ["/proc", "/sys"] : [])])("%s is no workspace", async (workspace) => {
    await using at = await world({ workspace });
    expect((await at.call("read_file", { path: "etc/hostname" })).code).toBe("cave_workspace_invalid");
  });
});

/** Swaps `workspace/door` between a folder inside and a link to outside, as fast as it can. */
function swapping(at: World): Worker {
  return new Worker(
    `const { renameSync, symlinkSync, unlinkSync } = require("node:fs");
     const { workerData: { ws, out } } = require("node:worker_threads");
     for (;;) {
       try {
         renameSync(ws + "/door", ws + "/kept");
         symlinkSync(out, ws + "/door");
         unlinkSync(ws + "/door");
         renameSync(ws + "/kept", ws + "/door");
       } catch {}
     }`,
    { eval: true, workerData: { ws: at.workspace, out: at.base } },
  );
}

describe("races between check and use", () => {
  test("a folder that is swapped for a link while it is read, searched and listed gives nothing away", async () => {
    await using at = await world({ ripgrep: false });
    writeFileSync(outside(at), SECRET);
    at.file("door/secret.txt", "harmless");
    const swapper = swapping(at);
    const outcomes = new Set<string>();
    try {
      // Until it was met both inside and swapped.
      const until = Date.now() + 30_000;
      for (let round = 0; round < 50 || (outcomes.size <= 3 && Date.now() < until); round++) {
        for (const [tool, input] of [
          ["read_file", { path: "door/secret.txt" }],
          ["grep", { pattern: "harmless|house", path: "." }],
          ["list_files", {}],
        ] as const) {
          const answer = await at.call(tool, input);
          expect(answer.text).not.toContain(SECRET);
          expect(answer.text).not.toContain("door/workspace");
          outcomes.add(`${tool} ${answer.isError ? answer.code : "inside"}`);
        }
      }
    } finally {
      await swapper.terminate();
    }
    expect(outcomes.size).toBeGreaterThan(3);
  });

  test("a folder that is swapped for a link while files are written never lets one out", async () => {
    await using at = await world();
    writeFileSync(outside(at), SECRET);
    at.file("door/secret.txt", "harmless");
    const before = readdirSync(at.base).sort();
    const swapper = swapping(at);
    let written = 0;
    try {
      for (let round = 0; round < 120; round++) {
        const name = round % 2 === 0 ? "secret.txt" : `new-${round}.txt`;
        if (!(await at.call("write_file", { path: `door/${name}`, content: `written ${round}` })).isError) written++;
      }
    } finally {
      await swapper.terminate();
    }
    expect(readFileSync(outside(at), "utf8")).toBe(SECRET);
    expect(readdirSync(at.base).sort()).toEqual(before);
    expect(written).toBeGreaterThan(0);
  });

  test("a file that is swapped for a link while it is read gives nothing away", async () => {
    await using at = await world();
    writeFileSync(outside(at), SECRET);
    at.file("a.txt", "harmless");
    const swapper = new Worker(
      `const { renameSync, symlinkSync, writeFileSync } = require("node:fs");
       const { workerData: { ws, out } } = require("node:worker_threads");
       for (;;) {
         try { symlinkSync(out, ws + "/l"); renameSync(ws + "/l", ws + "/a.txt"); } catch {}
         try { writeFileSync(ws + "/f", "harmless"); renameSync(ws + "/f", ws + "/a.txt"); } catch {}
       }`,
      { eval: true, workerData: { ws: at.workspace, out: outside(at) } },
    );
    try {
      for (let round = 0; round < 120; round++) {
        expect((await at.call("read_file", { path: "a.txt" })).text).not.toContain(SECRET);
        expect((await at.call("edit_file", { path: "a.txt", old_string: "house", new_string: "x" })).isError).toBe(
          true,
        );
      }
    } finally {
      await swapper.terminate();
    }
    expect(readFileSync(outside(at), "utf8")).toBe(SECRET);
  });
});

describe("what is no file is never waited for", () => {
  const make: Readonly<Record<string, (at: World) => string | Promise<string>>> = {
    "a named pipe": (at) => {
      execFileSync("mkfifo", [at.path("x")]);
      return "x";
    },
    "a socket": async (at) => {
      const server = createServer().listen(at.path("x"));
      await new Promise((resolve) => server.once("listening", resolve));
      server.unref();
      return "x";
    },
    "a link to a device": (at) => {
      symlinkSync("/dev/zero", at.path("x"));
      return "x";
    },
    "a device by its path": () => "/dev/zero",
    "a link to itself": (at) => {
      symlinkSync("x", at.path("x"));
      return "x";
    },
    "two links to each other": (at) => {
      symlinkSync("y", at.path("x"));
      symlinkSync("x", at.path("y"));
      return "x/z";
    },
    "a folder": (at) => {
      mkdirSync(at.path("x"));
      return "x";
    },
  };
  for (const [what, lay] of Object.entries(make)) {
    test(`${what} is refused by read, write, edit and search`, async () => {
      await using at = await world();
      const path = await lay(at);
      for (const [tool, input] of [
        ["read_file", { path }],
        ["write_file", { path, content: "x" }],
        ["edit_file", { path, old_string: "a", new_string: "b" }],
        ...(what === "a folder" ? [] : [["grep", { pattern: "a", path }] as const]),
      ] as const) {
        const answer = await at.call(tool, input);
        expect([tool, answer.isError, answer.code]).toEqual([
          tool,
          true,
          expect.stringMatching(/^cave_path_(not_file|outside_workspace)$/),
        ]);
      }
    });
  }
});

test("a temporary file never stays behind", async () => {
  await using at = await world();
  at.file("a.txt", "one\n");
  await at.ok("edit_file", { path: "a.txt", old_string: "one", new_string: "two" });
  mkdirSync(at.path("full"));
  await at.call("write_file", { path: "full", content: "x" });
  expect(readdirSync(at.workspace).filter((name) => name.includes("caveman"))).toEqual([]);
});
