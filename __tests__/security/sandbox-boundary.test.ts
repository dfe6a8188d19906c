/** The boundary of the operating system by itself: the same launch without Node's permission model and its other flags. */

import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { launch } from "../../plugins/sandbox/launch.ts";
import { probeStage } from "../../plugins/sandbox/stage.ts";
import { available } from "../plugins/sandbox/availability.ts";

const SCRIPT = `
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
const [bait, port, socket, abstract] = process.env.BAITS.split("|");
const tried = {};
const attempt = async (name, work) => {
  try { tried[name] = (await work()) ?? "done"; } catch (error) { tried[name] = error.code ?? error.message; }
};
const reach = (at) => new Promise((yes, no) => net.connect(at, () => yes("connected")).once("error", no));
await attempt("root folder", () => fs.readdirSync("/").sort().join(" "));
await attempt("bait", () => fs.readFileSync(bait, "utf8"));
await attempt("passwd", () => fs.readFileSync("/etc/passwd", "utf8"));
await attempt("link", () => { fs.symlinkSync(bait, "/tmp/link"); return fs.readFileSync("/tmp/link", "utf8"); });
await attempt("climb", () => fs.readFileSync("/tmp/../../../../../.." + bait, "utf8"));
await attempt("proc", () => fs.readdirSync("/proc").length);
await attempt("dev", () => fs.readdirSync("/dev").length);
await attempt("write app", () => fs.writeFileSync("/app/x", ""));
await attempt("write root", () => fs.writeFileSync("/x", ""));
await attempt("overwrite node", () => fs.writeFileSync("/bin/node", ""));
await attempt("write tmp", () => { fs.writeFileSync("/tmp/x", "kept"); return fs.readFileSync("/tmp/x", "utf8"); });
await attempt("run from tmp", () => { fs.copyFileSync("/bin/node", "/tmp/node"); fs.chmodSync("/tmp/node", 0o755); const { error } = spawnSync("/tmp/node", ["-v"]); if (error) throw error; });
await attempt("shell", () => { const { error } = spawnSync("/bin/sh", ["-c", "true"]); if (error) throw error; });
await attempt("tcp", () => reach({ port: Number(port), host: "127.0.0.1" }));
await attempt("socket", () => reach({ path: socket }));
await attempt("abstract", () => reach({ path: "\\0" + abstract }));
await attempt("host pid", () => process.kill(Number(process.env.HOST), 0));
await attempt("setuid", () => process.setuid(0));
await attempt("name", () => os.hostname());
// A child of it, which inherits nothing more.
await attempt("child", () => spawnSync("/bin/node", ["-p", "process.getuid() + ' ' + require('fs').readdirSync('/').length"]).stdout.toString().trim());
fs.writeSync(3, JSON.stringify(tried));
`;

(available && process.platform === "linux" ? describe : describe.skip)("without Node's permission model", () => {
  test("nothing of the host is there", async () => {
    const dir = mkdtempSync(join(tmpdir(), "caveman-boundary-"));
    const staged = await probeStage();
    const abstract = `caveman-boundary-${process.pid}`;
    const [tcp, unix, hidden] = [createServer(), createServer(), createServer()];
    try {
      writeFileSync(join(dir, "bait"), "the secret");
      await new Promise<void>((resolve) => tcp.listen(0, "127.0.0.1", resolve));
      await new Promise<void>((resolve) => unix.listen(join(dir, "sock"), resolve));
      await new Promise<void>((resolve) => hidden.listen(`\0${abstract}`, resolve));
      const address = tcp.address();
      const port = typeof address === "object" && address ? address.port : 0;
      chmodSync(join(staged.dir, "app", "worker.mjs"), 0o600);
      writeFileSync(join(staged.dir, "app", "worker.mjs"), SCRIPT);
      const { command, args, cwd } = launch(staged.dir, "", { memoryMb: 256, scratchMb: 16 });
      const bare = args.filter((arg) => !/^--(?:permission|allow-|disallow-code|no-addons|disable-sigusr1)/.test(arg));
      const env = {
        BAITS: [join(dir, "bait"), port, join(dir, "sock"), abstract].join("|"),
        HOST: String(process.pid),
      };
      const child = spawn(command, bare, { cwd, env, stdio: ["ignore", "ignore", "inherit", "pipe"] });
      let text = "";
      child.stdio[3]?.on("data", (chunk: Buffer) => (text += chunk));
      await new Promise((resolve) => child.once("close", resolve));
      const tried = JSON.parse(text) as Record<string, string>;
      expect(tried).toMatchObject({
        bait: "ENOENT",
        passwd: "ENOENT",
        link: "ENOENT",
        climb: "ENOENT",
        proc: "ENOENT",
        dev: "ENOENT",
        "write app": "EROFS",
        "write root": "EROFS",
        "overwrite node": expect.stringMatching(/EROFS|ETXTBSY/),
        "write tmp": "kept",
        "run from tmp": expect.stringMatching(/ENOSPC|EACCES/),
        shell: "ENOENT",
        tcp: "ENETUNREACH",
        socket: "ENOENT",
        abstract: "ECONNREFUSED",
        "host pid": "ESRCH",
        setuid: expect.stringMatching(/EINVAL|EPERM/),
        name: "sandbox",
      });
      expect(tried["root folder"]?.split(" ").filter((name) => !/^(?:app|bin|tmp|lib\w*|usr|nix)$/.test(name))).toEqual(
        [],
      );
    } finally {
      for (const server of [tcp, unix, hidden]) server.close();
      await staged.dispose();
      rmSync(dir, { recursive: true, force: true });
    }
  }, 60_000);
});
