/**
 * What a hostile tool tries. Each attack answers with what it got out; one that gets nothing throws or is stopped. The
 * same code runs contained and, to show that it works at all, on the host.
 */
import { execSync, fork, spawn, spawnSync } from "node:child_process";
import cluster from "node:cluster";
import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import fs from "node:fs";
import { get } from "node:http";
import inspector from "node:inspector";
import module from "node:module";
import { connect, type NetConnectOpts } from "node:net";
import os from "node:os";
import { join } from "node:path";
import v8 from "node:v8";
import vm from "node:vm";
import { Worker } from "node:worker_threads";

/** What stands on the host for the attacks to find. */
export interface Baits {
  /** A folder of the host with `secret.txt` ("the secret"), `module.mjs` and `.env` in it. */
  readonly dir: string;
  readonly home: string;
  readonly tcp: number;
  readonly udp: number;
  readonly socket: string;
  readonly abstract: string;
  readonly hostPid: number;
  /** A descriptor open in the host on the secret. */
  readonly descriptor: number;
  /** A native addon on the host. */
  readonly addon: string;
  /** Name of an environment variable of the host. */
  readonly variable: string;
}

export interface Attack {
  readonly run: (baits: Baits) => unknown;
  /** What the host's run of it needs: nothing, or a process of its own that may die or hang of it. `none`: it has no host form. */
  readonly host?: "deadly" | "none";
}

const fail = (reason: string): never => {
  throw new Error(reason);
};
const secret = ({ dir }: Baits): string => join(dir, "secret.txt");
const isSecret = (text: unknown): string =>
  String(text).includes("the secret") ? "read the secret" : fail("not the secret");

const reach = (options: NetConnectOpts): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(options, () => resolve("connected"));
    socket.once("error", reject);
    socket.setTimeout(2_000, () => reject(new Error("no answer")));
  });
const asked = (emitter: NodeJS.EventEmitter, event: string): Promise<string> =>
  new Promise((resolve, reject) => {
    emitter.once("error", reject);
    emitter.once(event, () => resolve(event));
    setTimeout(() => reject(new Error("no answer")), 5_000);
  });
const inContext = (code: string): unknown => vm.runInNewContext(code);
const hang = (): never => {
  for (;;) Math.random();
};
const megabytes = (count: number): void => {
  const held: Buffer[] = [];
  for (let at = 0; at < count; at++) held.push(Buffer.alloc(1024 * 1024, at));
};

export const attacks: Readonly<Record<string, Attack>> = {
  // Network
  "TCP to the host": { run: ({ tcp }) => reach({ port: tcp, host: "127.0.0.1" }) },
  "HTTP to the host": { run: ({ tcp }) => asked(get({ port: tcp, host: "127.0.0.1" }), "response") },
  "fetch from the host": { run: async ({ tcp }) => (await fetch(`http://127.0.0.1:${tcp}/`)).status },
  "UDP to the host": {
    run: ({ udp }) => {
      const socket = createSocket("udp4");
      socket.send("hello", udp, "127.0.0.1", (error) => error && socket.emit("error", error));
      return asked(socket, "message");
    },
  },
  "DNS at a server of the host": {
    run: async ({ udp }) => {
      const resolver = new Resolver({ timeout: 300, tries: 1 });
      resolver.setServers([`127.0.0.1:${udp}`]);
      // The server echoes the question, which is no answer but shows that it was asked.
      return resolver
        .resolve4("example.org")
        .catch((error: { code: string }) =>
          ["ECONNREFUSED", "ETIMEOUT", "ENETUNREACH"].includes(error.code) ? fail(error.code) : "asked",
        );
    },
  },
  "Unix socket": { run: ({ socket }) => reach({ path: socket }) },
  "abstract Unix socket": { run: ({ abstract }) => reach({ path: abstract }) },
  "network interfaces of the host": {
    run: () => (Object.keys(os.networkInterfaces()).length > 0 ? "listed" : fail("none is up")),
  },
  // Files
  "read a secret": { run: (baits) => isSecret(fs.readFileSync(secret(baits))) },
  "read by a path of bytes": { run: (baits) => isSecret(fs.readFileSync(Buffer.from(secret(baits)))) },
  "read by a path that climbs": { run: (baits) => isSecret(fs.readFileSync(`/tmp/../../../../${secret(baits)}`)) },
  "read through a file handle": {
    run: async (baits) => isSecret(await (await fs.promises.open(secret(baits))).readFile("utf8")),
  },
  "read as a blob": { run: async (baits) => isSecret(await (await fs.openAsBlob(secret(baits))).text()) },
  "read the home folder": { run: ({ home }) => `${fs.readdirSync(home).length} entries` },
  "read /etc/passwd": { run: () => fs.readFileSync("/etc/passwd", "utf8").length },
  "list the root folder": { run: () => (fs.readdirSync("/").includes("etc") ? "listed" : fail("not the host's")) },
  "list the temporary folder of the host": {
    run: ({ dir }) => (fs.readdirSync(dir).length > 0 ? "listed" : fail("empty")),
  },
  "symbolic link to a secret": {
    run: (baits) => {
      const link = join(os.tmpdir(), `link-${process.pid}`);
      fs.rmSync(link, { force: true });
      fs.symlinkSync(secret(baits), link);
      return isSecret(fs.readFileSync(link));
    },
  },
  "hard link to a secret": {
    run: (baits) => {
      const link = join(os.tmpdir(), `hard-${process.pid}`);
      fs.rmSync(link, { force: true });
      fs.linkSync(secret(baits), link);
      return isSecret(fs.readFileSync(link));
    },
  },
  "copy a secret": {
    run: (baits) => {
      const copy = join(os.tmpdir(), `copy-${process.pid}`);
      fs.copyFileSync(secret(baits), copy);
      return isSecret(fs.readFileSync(copy));
    },
  },
  "write on the host": { run: ({ dir }) => fs.writeFileSync(join(dir, "written.txt"), "x") ?? "written" },
  "remove a folder of the host": {
    run: ({ dir }) => {
      const folder = join(dir, "folder");
      if (!fs.existsSync(folder)) fail("not there");
      fs.rmdirSync(folder);
      return "removed";
    },
  },
  "rename on the host": { run: ({ dir }) => fs.renameSync(join(dir, "a"), join(dir, "b")) ?? "renamed" },
  "a database on the host": {
    run: ({ dir }) => {
      const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
      const database = new DatabaseSync(join(dir, "made.sqlite"));
      database.exec("CREATE TABLE t (x)");
      return "created";
    },
  },
  "an environment file of the host": {
    run: ({ dir }) => {
      process.loadEnvFile(join(dir, ".env"));
      return process.env.FROM_ENV_FILE ?? fail("not read");
    },
  },
  "a heap snapshot on the host": { run: ({ dir }) => fs.statSync(v8.writeHeapSnapshot(join(dir, "heap"))).size },
  "fill the disk": {
    run: ({ dir }) => {
      const block = Buffer.alloc(1024 * 1024, 1);
      let target = join(dir, "big");
      try {
        fs.writeFileSync(target, block);
      } catch {
        target = join(os.tmpdir(), "big");
      }
      for (let at = 0; at < 128; at++) fs.appendFileSync(target, block);
      return "128 MB written";
    },
  },
  "overwrite the staged sources": {
    run: () => fs.appendFileSync(new URL(import.meta.url), "\n") ?? "written",
    host: "none",
  },
  // Processes of the host, and what /proc tells of them
  "environment of the host": { run: ({ variable }) => process.env[variable] ?? fail("not set") },
  "environment of the parent in /proc": {
    run: ({ hostPid }) => fs.readFileSync(`/proc/${hostPid}/environ`, "utf8").length,
  },
  "environment of process 1 in /proc": {
    run: () => fs.readFileSync("/proc/1/environ", "utf8").length || fail("empty"),
  },
  "root folder of a process in /proc": { run: ({ hostPid }) => fs.readdirSync(`/proc/${hostPid}/root`).length },
  "memory map in /proc": { run: () => fs.readFileSync("/proc/self/maps", "utf8").length },
  "a device": { run: () => fs.readSync(fs.openSync("/dev/zero", "r"), Buffer.alloc(16), 0, 16, null) },
  "/sys of the host": { run: () => `${fs.readdirSync("/sys").length} entries` },
  "signal to the host": { run: ({ hostPid }) => (process.kill(hostPid, 0) ? "reached" : fail("not reached")) },
  "kill the parent": {
    run: () => (process.ppid > 0 && process.kill(process.ppid, 0) ? "reached" : fail("no parent to be seen")),
  },
  "kill everything": { run: () => void process.kill(-1, "SIGKILL"), host: "none" },
  "kill the process group": { run: () => void process.kill(0, "SIGKILL"), host: "deadly" },
  "an inherited descriptor": {
    run: ({ descriptor }) => {
      const bytes = Buffer.alloc(32);
      return isSecret(bytes.toString("utf8", 0, fs.readSync(descriptor, bytes, 0, 32, 0)));
    },
  },
  "any open descriptor on a secret": {
    run: () => {
      for (let at = 4; at < 128; at++) {
        try {
          const bytes = Buffer.alloc(32);
          if (bytes.toString("utf8", 0, fs.readSync(at, bytes, 0, 32, 0)).includes("the secret"))
            return "read the secret";
        } catch {
          // Closed, or no file.
        }
      }
      return fail("none");
    },
  },
  // Other code
  spawn: { run: () => asked(spawn("/bin/sh", ["-c", "exit 0"]), "exit") },
  exec: { run: () => String(execSync("echo started")) },
  "fork a module": { run: ({ dir }) => asked(fork(join(dir, "module.mjs")), "exit") },
  "fork a cluster": {
    run: ({ dir }) => {
      cluster.setupPrimary({ exec: join(dir, "module.mjs") });
      return asked(cluster.fork(), "online");
    },
  },
  "fork bomb": {
    run: () => {
      for (let at = 0; at < 16; at++) {
        const { error } = spawnSync(process.execPath, ["--version"]);
        if (error) throw error;
      }
      return "16 processes";
    },
  },
  "replace the process": {
    run: () => {
      const { execve } = process as { execve?: (file: string, args: string[], env: object) => void };
      return execve
        ? execve(process.execPath, [process.execPath, "-e", "process.exit(7)"], {})
        : fail("this Node has no execve");
    },
    host: "deadly",
  },
  "a worker thread": { run: () => asked(new Worker("", { eval: true }), "exit") },
  "a native addon": { run: ({ addon }) => process.dlopen({ exports: {} } as never, addon) ?? "loaded" },
  "process.binding": {
    run: () => {
      const { binding } = process as unknown as { binding: (name: string) => { spawn?: unknown; open?: unknown } };
      return binding("fs").open ? "has it" : fail("empty");
    },
  },
  "internal bindings": {
    run: () =>
      (process as unknown as { _linkedBinding: (name: string) => unknown })._linkedBinding("spawn_sync") ??
      fail("none"),
    host: "none",
  },
  "inspector port": { run: () => inspector.open(0, "127.0.0.1") ?? inspector.url() ?? fail("none") },
  "inspector session": {
    run: () => {
      const session = new inspector.Session();
      session.connect();
      session.disconnect();
      return "connected";
    },
  },
  "debug the host": {
    run: ({ hostPid }) =>
      (process as unknown as { _debugProcess: (pid: number) => void })._debugProcess(hostPid) ?? "signalled",
  },
  "hooks of the module loader": {
    run: () => module.register("data:text/javascript,export const a = 1") ?? "registered",
  },
  eval: { run: () => (globalThis[["ev", "al"].join("") as "eval"] as (code: string) => unknown)("1 + 1") },
  "new Function": { run: () => Reflect.construct(Function, ["return 2"])() },
  "node:vm to a secret": {
    run: (baits) => {
      const process = inContext("this.constructor.constructor('return process')()") as NodeJS.Process;
      return isSecret(process.getBuiltinModule("node:fs").readFileSync(secret(baits)));
    },
  },
  "constructor of an outer object in node:vm": {
    run: (baits) => {
      const found = vm.runInNewContext("host.constructor.constructor('return process')()", {
        host: {},
      }) as NodeJS.Process;
      return isSecret(found.getBuiltinModule("node:fs").readFileSync(secret(baits)));
    },
  },
  "import of a host path": {
    run: async ({ dir }) => {
      const importModuleDynamically = vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;
      const script = new vm.Script(`import(${JSON.stringify(`file://${dir}/module.mjs`)})`, {
        importModuleDynamically,
      });
      return ((await script.runInThisContext()) as { default: string }).default;
    },
  },
  "require of a host path": {
    run: ({ dir }) => {
      const made = module[["create", "Require"].join("") as "createRequire"](import.meta.url);
      return (made(join(dir, "module.cjs")) as { found: string }).found;
    },
  },
  "WebAssembly with the host's files": {
    run: () => {
      const { WASI } = process.getBuiltinModule("node:wasi");
      return new WASI({ version: "preview1", preopens: { "/host": "/" } }) && "opened the root folder";
    },
  },
  "become root": { run: () => process.setuid?.(0) ?? (os.userInfo().uid === 0 ? "root" : fail("not root")) },
  "the name of the host": { run: () => (os.hostname() === "sandbox" ? fail("not the host's") : os.hostname()) },
  // Exhaustion
  "infinite loop": { run: hang, host: "deadly" },
  "ignore signals": {
    run: () => {
      for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(name, () => undefined);
      process.removeAllListeners("exit");
      return hang();
    },
    host: "deadly",
  },
  "memory in buffers": { run: () => megabytes(900) ?? "900 MB" },
  "memory in the heap": {
    run: () => {
      const held: unknown[] = [];
      for (let at = 0; at < 40_000_000; at++) held.push({ at });
      return held.length;
    },
    host: "none",
  },
  "flood standard error": {
    run: () => {
      const block = Buffer.alloc(65_536, 120);
      for (let left = 64; left > 0; ) {
        try {
          fs.writeSync(2, block);
          left--;
        } catch {
          // The pipe is full: once more.
        }
      }
      return "4 MB written";
    },
  },
  "a result of 100 MB": { run: () => "x".repeat(100 * 1024 * 1024) },
  "end the process": { run: () => process.exit(0), host: "deadly" },
  "an exception in a timer": { run: () => new Promise(() => setTimeout(() => fail("late"), 1)), host: "deadly" },
  "a rejection nobody handles": {
    run: () => {
      void Promise.reject(new Error("unheard"));
      return new Promise(() => undefined);
    },
    host: "deadly",
  },
  // The protocol
  "forge a result": {
    run: () => {
      const body = Buffer.from(JSON.stringify({ type: "result", ok: true, json: '"forged"', key: "guessed" }));
      const head = Buffer.alloc(4);
      head.writeUInt32BE(body.length);
      fs.writeSync(3, Buffer.concat([head, body]));
      return new Promise(() => undefined);
    },
    host: "none",
  },
  "forge a frame of 4 GB": {
    run: () => {
      fs.writeSync(3, Buffer.alloc(64, 255));
      return new Promise(() => undefined);
    },
    host: "none",
  },
  "flood the protocol": {
    run: () => {
      const block = Buffer.alloc(65_536, 0);
      for (let at = 0; at < 1_024; at++) fs.writeSync(3, block);
      return "64 MB written";
    },
    host: "none",
  },
  "a prototype in the result": { run: () => JSON.parse('{"__proto__":{"polluted":"yes"},"kept":1}') },
  "change Object.prototype": { run: () => Object.assign(Object.prototype, { polluted: "yes" }) && "changed" },
  "leave state for the next call": {
    run: () => {
      const shared = globalThis as { left?: string };
      const before = shared.left;
      shared.left = "left";
      return before ?? fail("nothing was left");
    },
  },
};
