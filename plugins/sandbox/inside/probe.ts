/** What the containment probe tries from inside a worker. Each attempt answers with what it got, or throws. */
import { spawnSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { resolve4 } from "node:dns/promises";
import { readFileSync, writeFileSync } from "node:fs";
import { connect, type NetConnectOpts } from "node:net";
import { Worker } from "node:worker_threads";
import { agent, tool } from "./definition.ts";

/** What the host prepared for the probe to find. */
interface Baits {
  readonly file: string;
  readonly port: number;
  readonly socket: string;
  readonly abstract: string;
  readonly secret: string;
}

const reach = (options: NetConnectOpts): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(options, () => {
      socket.destroy();
      resolve("connected");
    });
    socket.setTimeout(500, () => {
      socket.destroy();
      reject(new Error("no answer"));
    });
    socket.once("error", reject);
  });

const datagram = (port: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = createSocket("udp4");
    socket.once("error", reject);
    socket.send("probe", port, "127.0.0.1", (error) => {
      if (error) reject(error);
    });
    socket.once("message", () => resolve("answered"));
    setTimeout(() => reject(new Error("no answer")), 300);
  });

const attempts: Readonly<Record<string, (baits: Baits) => unknown>> = {
  "read a file of the host": ({ file }) => readFileSync(file, "utf8"),
  "write a file of the host": ({ file }) => writeFileSync(file, "overwritten"),
  "write into the staged sources": () => writeFileSync(process.argv[1] ?? "", ""),
  "read the environment of the host": ({ secret }) => process.env[secret] ?? Promise.reject(new Error("not set")),
  "read /proc": () => readFileSync("/proc/self/environ", "utf8"),
  "start a process": () => {
    const { error, stdout } = spawnSync("/bin/echo", ["started"]);
    if (error) throw error;
    return String(stdout);
  },
  "start a thread": () => void new Worker("0", { eval: true }),
  "evaluate a string": () => Reflect.construct(Function, ["return 1"]),
  "connect over TCP": ({ port }) => reach({ port, host: "127.0.0.1" }),
  "send over UDP": ({ port }) => datagram(port),
  "connect to a Unix socket": ({ socket }) => reach({ path: socket }),
  "connect to an abstract socket": ({ abstract }) => reach({ path: abstract }),
  "resolve a name": () => resolve4("localhost"),
};

const probe = tool({
  name: "probe",
  description: "Tries to leave the worker.",
  effect: "read",
  input: {},
  nestedTools: [],
  async execute(baits) {
    const results: { name: string; outcome: string; contained: boolean }[] = [];
    for (const [name, attempt] of Object.entries(attempts)) {
      try {
        await attempt(baits as Baits);
        results.push({ name, outcome: "succeeded", contained: false });
      } catch (error) {
        const { code, message } = error as { code?: unknown; message?: unknown };
        results.push({ name, outcome: String(code ?? message), contained: true });
      }
    }
    return results;
  },
});

export default agent({ id: "probe", tools: [probe] });
