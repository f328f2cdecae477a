// Writes events as a `text/event-stream` (WHATWG HTML, "Server-sent events"): framing, heartbeats, the end of the stream.
// What the events are, and what an error's body says, is the caller's; so are the headers of the response.

import { invariant } from "../domain/fault.ts";
import type { Clock } from "../kit/clock.ts";

/** One event; `done` and `error` are written by the stream itself. */
export interface SseEvent {
  readonly name: string;
  /** Any JSON value. */
  readonly data: unknown;
}

/** How a stream ended: everything was said, the work failed, or the caller hung up. */
export type StreamEnd = "done" | "error" | "aborted";

/** What a stream is made of. */
export interface EventStreamParts {
  /** Asked for the next event when the reader wants one, never earlier. */
  readonly events: AsyncIterable<SseEvent>;
  /** The body of the `error` event that stands in for what `events` threw. Logs it where that is due; never throws. */
  readonly errorBody: (error: unknown) => unknown;
  /** Called once, in the turn in which the stream ends: the place to meter. Never throws. */
  readonly onEnd: (end: StreamEnd) => void;
  /** Told what `events` throws when the stream has ended already, and no caller can be told any more. Never throws. */
  readonly onLateError: (error: unknown) => void;
  readonly clock: Clock;
  /** Aborts when the caller hangs up; the same as cancelling the stream. */
  readonly signal?: AbortSignal;
  /** A wait is interrupted by a comment this often, so that no server or proxy on the way takes it for dead. */
  readonly heartbeatMs?: number;
}

/** The interface's interval; Bun cuts a connection off that was silent for 10 s. */
const HEARTBEAT_MS = 5_000;

const encoder = new TextEncoder();
const HEARTBEAT = encoder.encode(": keep-alive\n\n");

/**
 * The body of a streamed answer: the events in order, then exactly one `done` with an empty object, or one `error` in place
 * of all that was still to come. One chunk is one event or heartbeat. An event that is no JSON counts as thrown.
 * When the caller hangs up, `events` gets its `return()` within the turn; a generator that waits at that moment only
 * notices when its wait ends, so what it waits for must know the same signal.
 */
export function eventStream(parts: EventStreamParts): ReadableStream<Uint8Array> {
  const { events, errorBody, onEnd, onLateError, clock, signal, heartbeatMs = HEARTBEAT_MS } = parts;
  const iterator = events[Symbol.asyncIterator]();
  /** Asked for and not there yet; outlives a heartbeat. */
  let pending: Promise<IteratorResult<SseEvent>> | null = null;
  let waiting = new AbortController();
  let hasEnded = false;
  let hangUp = () => {};

  const end = (how: StreamEnd) => {
    hasEnded = true;
    signal?.removeEventListener("abort", hangUp);
    onEnd(how);
  };
  const release = () => {
    iterator.return?.().catch(onLateError);
  };
  const abandon = () => {
    end("aborted");
    waiting.abort();
    pending?.catch(onLateError);
    release();
  };

  /** The next event, `"silence"` when none came for `heartbeatMs`. */
  const next = async (): Promise<IteratorResult<SseEvent> | "silence"> => {
    pending ??= iterator.next();
    waiting = new AbortController();
    const silence = clock.sleep(heartbeatMs, waiting.signal).then(() => "silence" as const);
    try {
      const first = await Promise.race([pending, silence]);
      if (first !== "silence") pending = null;
      return first;
    } finally {
      waiting.abort();
    }
  };

  /** The next chunk, and whether it is the last one; null when the caller hung up meanwhile. */
  const step = async (): Promise<{ readonly chunk: Uint8Array; readonly end: StreamEnd | null } | null> => {
    let isIterating = false;
    try {
      const result = await next();
      if (hasEnded) return null;
      if (result === "silence") return { chunk: HEARTBEAT, end: null };
      if (result.done === true) return { chunk: frame("done", {}), end: "done" };
      isIterating = true;
      invariant(
        result.value.name !== "done" && result.value.name !== "error",
        "only the stream itself says how it ends",
      );
      return { chunk: frame(result.value.name, result.value.data), end: null };
    } catch (error) {
      if (hasEnded) return null;
      if (isIterating) release();
      return { chunk: frame("error", errorBody(error)), end: "error" };
    }
  };

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        hangUp = () => {
          abandon();
          controller.close();
        };
        if (signal?.aborted) hangUp();
        else signal?.addEventListener("abort", hangUp, { once: true });
      },
      async pull(controller) {
        const stepped = await step();
        if (stepped === null) return;
        controller.enqueue(stepped.chunk);
        if (stepped.end === null) return;
        controller.close();
        end(stepped.end);
      },
      cancel: abandon,
    },
    // nothing is made before it is asked for: a slow reader holds up the work, and no queue grows
    { highWaterMark: 0 },
  );
}

/**
 * One event of the stream. JSON has no raw line break in it, and lines of the format end at CR and LF only, so U+2028 and
 * U+2029 may stand in it as they are.
 */
function frame(name: string, data: unknown): Uint8Array {
  const json: string | undefined = JSON.stringify(data);
  invariant(
    json !== undefined && /^[\w.-]+$/.test(name),
    "an event has a name of one word and data that JSON can hold",
  );
  return encoder.encode(`event: ${name}\ndata: ${json}\n\n`);
}
