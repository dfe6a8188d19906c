/** The thread that touches files: a file system that hangs or a pattern that never ends stops it, and not the process. */
import { type MessagePort, parentPort } from "node:worker_threads";
import { grep, lines } from "../search/match.ts";
import { files } from "../search/walk.ts";
import { type Boundary, boundaryOf } from "./boundary.ts";
import { editFile, writeFile } from "./change.ts";
import { faultOf } from "./fault.ts";
import type { Answers, WorkerReply, WorkerTask } from "./protocol.ts";
import { readFile } from "./read.ts";

/** Does one task, synchronously but for the loading of the diff package. */
export async function perform({ root, hardLinks, deadline, request }: WorkerTask): Promise<WorkerReply> {
  try {
    const boundary = boundaryOf(root, hardLinks);
    return { ok: true, answer: await answerTo(boundary, request, deadline) };
  } catch (error) {
    const { code, message } = faultOf(error, "path" in request ? request.path : ".");
    return { ok: false, code, message };
  }
}

function answerTo(
  boundary: Boundary,
  request: WorkerTask["request"],
  deadline: number,
): Answers[keyof Answers] | Promise<Answers[keyof Answers]> {
  switch (request.kind) {
    case "read":
      return readFile(boundary, request);
    case "write":
      return writeFile(boundary, request);
    case "edit":
      return editFile(boundary, request);
    case "files":
      return files(boundary, request, deadline);
    case "grep":
      return grep(boundary, request, deadline);
    case "lines":
      return lines(boundary, request);
  }
}

function serve(port: MessagePort): void {
  port.on("message", (task: WorkerTask) => void perform(task).then((reply) => port.postMessage(reply)));
}

if (parentPort) serve(parentPort);
