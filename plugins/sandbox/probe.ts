/** The containment probe of `caveman doctor`: a real worker tries to get out, with something to find on the host. */
import { createSocket } from "node:dgram";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asCaveman, type CavemanError } from "../../kernel/index.ts";
import { environment } from "./profile.ts";

export interface ProbeCheck {
  /** What was tried. */
  readonly name: string;
  readonly contained: boolean;
  /** How it ended: the error's code, or `succeeded`. */
  readonly outcome: string;
  /** What to do when it was not contained. */
  readonly remedy?: string;
}
export interface ProbeReport {
  /** Whether a worker started and nothing that was tried worked. */
  readonly contained: boolean;
  readonly checks: readonly ProbeCheck[];
}

const REMEDY =
  'Do not rely on sandbox: "required" on this machine; update util-linux and the kernel, and report what was not contained.';

/** Starts a worker that tries to leave. Never rejects: where no worker can start, that is the one failed check. */
export async function probe(): Promise<ProbeReport> {
  const dir = mkdtempSync(join(tmpdir(), "caveman-probe-"));
  try {
    const checks = await attempts(dir);
    return { contained: checks.length > 1 && checks.every(({ contained }) => contained), checks };
  } catch (error) {
    const { code, message, remedy } = asCaveman(error, "cave_sandbox_failed") as CavemanError;
    return {
      contained: false,
      checks: [{ name: "start a worker", contained: false, outcome: message || code, ...(remedy ? { remedy } : {}) }],
    };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function attempts(dir: string): Promise<ProbeCheck[]> {
  const [{ probeStage }, { ToolWorker }] = await Promise.all([import("./stage.ts"), import("./worker-process.ts")]);
  const staged = await probeStage();
  const file = join(dir, "secret.txt");
  writeFileSync(file, "untouched");
  const socket = join(dir, "host.sock");
  const abstract = `\0caveman-probe-${process.pid}-${Date.now()}`;
  const servers = [
    await listening({ port: 0, host: "127.0.0.1" }),
    await listening({ path: socket }),
    ...(process.platform === "linux" ? [await listening({ path: abstract })] : []),
  ];
  const address = servers[0]?.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const echo = createSocket("udp4", (message, from) => echo.send(message, from.port, from.address));
  await new Promise<void>((resolve) => echo.bind(port, "127.0.0.1", resolve));
  const secret = Object.keys(process.env).find((name) => !["PATH", "LANG", "LC_ALL", "TZ"].includes(name)) ?? "HOME";
  const worker = new ToolWorker({ stage: staged, agentId: "probe", env: environment(), memoryMb: 256, scratchMb: 16 });
  try {
    await worker.ready;
    const input = { file, port, socket, abstract, secret };
    const call = {
      path: [],
      tool: "probe",
      nestedIn: undefined,
      toolCallId: "probe",
      input,
      timeoutMs: 15_000,
      nested: () => Promise.reject(new Error("none")),
    };
    const results = (await worker.run(call, new AbortController().signal)) as readonly ProbeCheck[];
    const touched = readFileSync(file, "utf8") !== "untouched";
    return [
      { name: "start a worker", contained: true, outcome: "started" },
      ...results.map(({ name, contained, outcome }): ProbeCheck => {
        const holds = contained && !(touched && name === "write a file of the host");
        return { name, contained: holds, outcome, ...(holds ? {} : { remedy: REMEDY }) };
      }),
    ];
  } finally {
    worker.end();
    await worker.gone;
    echo.close();
    for (const server of servers) server.close();
    await staged.dispose();
  }
}

const listening = (at: { port: number; host: string } | { path: string }): Promise<Server> =>
  new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.end());
    server.once("error", reject);
    server.listen(at, () => resolve(server));
  });
