/** The other side of the file worker: one thread a call in flight, one kept warm between calls. */
import type { Worker } from "node:worker_threads";
import { CavemanError } from "../../../kernel/index.ts";
import { FILE_MS } from "../limits.ts";
import type { HardLinks } from "./boundary.ts";
import type { Answers, FileRequest, WorkerReply } from "./protocol.ts";

/** Heap of one thread, in MiB: a hostile file may not take the process down. */
const HEAP_MIB = 512;

/** Between calls a thread knows nothing of the last one, so the whole process keeps one warm. */
let idle: Worker | undefined;
const gone = (): void => {
  idle = undefined;
};

export class FileWorkers {
  readonly #root: string;
  readonly #hardLinks: HardLinks;

  constructor(root: string, hardLinks: HardLinks) {
    this.#root = root;
    this.#hardLinks = hardLinks;
  }

  /**
   * Has a file worker do something.
   * @throws CavemanError what the worker found wrong; `cave_search_timeout` when it took over `FILE_MS`.
   */
  async ask<R extends FileRequest>(request: R, signal: AbortSignal, limitMs = FILE_MS): Promise<Answers[R["kind"]]> {
    signal.throwIfAborted();
    const worker = take();
    const reply = await this.#answer(worker, request, signal, limitMs);
    // The coded error closes the sentence itself.
    if (!reply.ok) throw new CavemanError(reply.code, { message: reply.message.replace(/\.$/, "") });
    return reply.answer as Answers[R["kind"]];
  }

  #answer(worker: Worker, request: FileRequest, signal: AbortSignal, limitMs: number): Promise<WorkerReply> {
    // A write is short, and is never cut off between its temporary file and its name.
    const writes = request.kind === "write" || request.kind === "edit";
    return new Promise<WorkerReply>((resolve, reject) => {
      const end = (settle: () => void, keep: boolean): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
        worker.off("message", onReply).off("error", onError).off("exit", onExit);
        worker.unref();
        if (keep && !idle) park(worker);
        else drop(worker);
        settle();
      };
      const fail = (code: string, message: string, cause?: unknown): void =>
        end(() => reject(new CavemanError(code, { message, cause })), false);
      const onReply = (reply: WorkerReply): void => end(() => resolve(reply), true);
      const onError = (error: unknown): void => fail("cave_file_operation_failed", "the file worker failed", error);
      const onExit = (): void => fail("cave_file_operation_failed", "the file worker ended");
      const onAbort = (): void => {
        if (!writes) end(() => reject(signal.reason), false);
      };
      const timer = setTimeout(() => fail("cave_search_timeout", `the files took more than ${limitMs} ms`), limitMs);
      signal.addEventListener("abort", onAbort, { once: true });
      worker.ref();
      worker.on("message", onReply).on("error", onError).on("exit", onExit);
      worker.postMessage({
        root: this.#root,
        hardLinks: this.#hardLinks,
        deadline: Date.now() + limitMs,
        request,
      });
    });
  }
}

function take(): Worker {
  const kept = idle;
  idle = undefined;
  if (kept) return kept.off("exit", gone).off("error", gone);
  const resourceLimits = { maxOldGenerationSizeMb: HEAP_MIB };
  const { Worker: Thread } = process.getBuiltinModule("node:worker_threads");
  return new Thread(new URL("./worker.ts", import.meta.url), { name: "caveman files", env: {}, resourceLimits });
}

function park(worker: Worker): void {
  idle = worker;
  worker.once("exit", gone).once("error", gone);
}

function drop(worker: Worker): void {
  // An error of a thread that nobody waits for any more is nobody's.
  worker.on("error", () => {});
  void worker.terminate();
}
