// Writes events as a `text/event-stream` (WHATWG HTML, "Server-sent events"): framing, heartbeats and the end of the
// stream. The caller provides the events, the body of an error and the response headers.

import { invariant } from "../domain/fault.ts";
import type { Clock } from "../kit/clock.ts";

/** One event. The stream itself writes `done` and `error`. */
export interface SseEvent {
  readonly name: string;
  /** Any JSON value. */
  readonly data: unknown;
}

/** How a stream ended: it was complete, producing an event failed, or the caller disconnected. */
export type StreamEnd = "done" | "error" | "aborted";

/** The parts of a stream. */
export interface EventStreamParts {
  /** The events. The next one is requested only when the reader wants it. */
  readonly events: AsyncIterable<SseEvent>;
  /**
   * Makes the body of the `error` event from an error that `events` threw, and logs the error if necessary. Never
   * throws.
   */
  readonly errorBody: (error: unknown) => unknown;
  /** Called once, in the same turn of the event loop in which the stream ends. Usage is counted here. Never throws. */
  readonly onEnd: (end: StreamEnd) => void;
  /** Receives what `events` throws after the stream has ended. Never throws. */
  readonly onLateError: (error: unknown) => void;
  readonly clock: Clock;
  /** Aborts when the caller disconnects; has the same effect as cancelling the stream. */
  readonly signal?: AbortSignal;
  /**
   * While there is no event, a comment is sent at this interval in milliseconds, so that no server or proxy closes the
   * connection.
   */
  readonly heartbeatMs?: number;
}

/** Default interval of heartbeats. By default, Bun closes a connection after 10 s without data. */
const HEARTBEAT_MS = 5_000;

const encoder = new TextEncoder();
const HEARTBEAT = encoder.encode(": keep-alive\n\n");

/**
 * The body of a streamed answer: the events in order, then exactly one `done` with an empty object. After a failure,
 * one `error` replaces the remaining events. Each chunk is one event or heartbeat. An event that JSON cannot represent
 * counts as a failure.
 *
 * When the caller disconnects, `events.return()` is called in the same turn of the event loop. A generator that is
 * waiting notices this only after the wait. The function that it waits for must therefore observe the same signal.
 */
export function eventStream(parts: EventStreamParts): ReadableStream<Uint8Array> {
  return new EventStream(parts).stream();
}

/** A chunk of the stream and, if it is the last one, how the stream ends. */
interface Step {
  readonly chunk: Uint8Array;
  readonly end: StreamEnd | null;
}

/** The state of one stream. */
class EventStream {
  readonly #parts: EventStreamParts;
  readonly #iterator: AsyncIterator<SseEvent>;
  /** The event that was requested and has not arrived yet. Heartbeats in the meantime do not request another one. */
  #pending: Promise<IteratorResult<SseEvent>> | null = null;
  #waiting = new AbortController();
  #hasEnded = false;
  #hangUp = () => {};

  constructor(parts: EventStreamParts) {
    this.#parts = parts;
    this.#iterator = parts.events[Symbol.asyncIterator]();
  }

  stream(): ReadableStream<Uint8Array> {
    const { signal } = this.#parts;
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#hangUp = () => {
            this.#abandon();
            controller.close();
          };
          if (signal?.aborted) this.#hangUp();
          else signal?.addEventListener("abort", this.#hangUp, { once: true });
        },
        pull: async (controller) => {
          const step = await this.#step();
          if (step === null) return;
          controller.enqueue(step.chunk);
          if (step.end === null) return;
          controller.close();
          this.#end(step.end);
        },
        cancel: () => this.#abandon(),
      },
      // No event is produced before it is requested: a slow reader slows the work down, and no queue grows.
      { highWaterMark: 0 },
    );
  }

  /** The next chunk; null if the caller has disconnected in the meantime. */
  async #step(): Promise<Step | null> {
    let isIterating = false;
    try {
      const result = await this.#next();
      if (this.#hasEnded) return null;
      if (result === "silence") return { chunk: HEARTBEAT, end: null };
      if (result.done === true) return { chunk: frame("done", {}), end: "done" };
      isIterating = true;
      invariant(
        result.value.name !== "done" && result.value.name !== "error",
        "events named done and error come from the stream itself",
      );
      return { chunk: frame(result.value.name, result.value.data), end: null };
    } catch (error) {
      if (this.#hasEnded) return null;
      if (isIterating) this.#release();
      return { chunk: frame("error", this.#parts.errorBody(error)), end: "error" };
    }
  }

  /** The next event, or `"silence"` if there was none within `heartbeatMs`. */
  async #next(): Promise<IteratorResult<SseEvent> | "silence"> {
    const { clock, heartbeatMs = HEARTBEAT_MS } = this.#parts;
    this.#pending ??= this.#iterator.next();
    const waiting = new AbortController();
    this.#waiting = waiting;
    const silence = clock.sleep(heartbeatMs, waiting.signal).then(() => "silence" as const);
    try {
      const first = await Promise.race([this.#pending, silence]);
      if (first !== "silence") this.#pending = null;
      return first;
    } finally {
      waiting.abort();
    }
  }

  #end(how: StreamEnd): void {
    this.#hasEnded = true;
    this.#parts.signal?.removeEventListener("abort", this.#hangUp);
    this.#parts.onEnd(how);
  }

  #release(): void {
    this.#iterator.return?.().catch(this.#parts.onLateError);
  }

  #abandon(): void {
    this.#end("aborted");
    this.#waiting.abort();
    this.#pending?.catch(this.#parts.onLateError);
    this.#release();
  }
}

/**
 * One event as bytes. JSON contains no unescaped line break, and lines of the format end only at CR and LF, so U+2028
 * and U+2029 need no escape.
 */
function frame(name: string, data: unknown): Uint8Array {
  const json: string | undefined = JSON.stringify(data);
  invariant(
    json !== undefined && /^[\w.-]+$/.test(name),
    "an event has a name of one word and data that JSON can represent",
  );
  return encoder.encode(`event: ${name}\ndata: ${json}\n\n`);
}
