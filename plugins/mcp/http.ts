/** The requests to a streamable HTTP server: bounded answers, and no header that follows a redirect to another place. */
import type { FetchLike } from "@modelcontextprotocol/client";
import { MAX_MESSAGE_BYTES } from "./stdio.ts";

/**
 * A fetch whose answers end in an error once one message of them is too long: the whole body, or one event of an
 * event stream.
 */
export const boundedFetch: FetchLike = async (url, init) => {
  const response = await fetch(url, init);
  if (!response.body) return response;
  const events = /^text\/event-stream/i.test(response.headers.get("content-type") ?? "");
  const bounded = response.body.pipeThrough(bound(events));
  const answer = new Response(bounded, {
    status: response.status,
    statusText: response.statusText,
    headers: response.headers,
  });
  // A Response made here has no address; the client resolves redirects by it.
  Object.defineProperty(answer, "url", { value: response.url });
  Object.defineProperty(answer, "redirected", { value: response.redirected });
  return answer;
};

const NEWLINE = 10;

function bound(events: boolean): TransformStream<Uint8Array, Uint8Array> {
  let size = 0;
  let newline = false;
  return new TransformStream({
    transform(chunk, controller) {
      if (!events) size += chunk.length;
      else
        for (const byte of chunk) {
          // An empty line ends an event; a carriage return is no part of the line.
          if (byte === NEWLINE) {
            if (newline) size = 0;
            newline = true;
          } else if (byte !== 13) newline = false;
          size++;
        }
      if (size > MAX_MESSAGE_BYTES) controller.error(new Error(`a message of more than ${MAX_MESSAGE_BYTES} bytes`));
      else controller.enqueue(chunk);
    },
  });
}
