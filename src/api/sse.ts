// Writes events as a `text/event-stream` (WHATWG HTML, "Server-sent events"): framing, heartbeats and the end of the
// stream. The caller provides the events, the body of an error, the framing and the response headers.

import { invariant } from "../domain/fault.ts";
import type { Clock } from "../kit/clock.ts";

/** One event. The stream itself writes its end and errors. */
export interface SseEvent {
  /** Not written by the framing `DATA_ONLY`. */
  readonly name: string;
  /** Any JSON value. */
  readonly data: unknown;
}

/** How a stream is written. */
export interface Framing {
  readonly event: (event: SseEvent) => string;
  /** The end of a complete stream. */
  readonly end: string;
  /** What replaces the remaining events after a failure. */
  readonly error: (body: unknown) => string;
}

/** Mneme's own framing: each event has a name; the last one is `done` or `error`. */
export const NAMED_EVENTS: Framing = {
  event: ({ name, data }) => {
    invariant(/^[\w.-]+$/.test(name), "an event has a name of one word");
    invariant(name !== "done" && name !== "error", "events named done and error come from the stream itself");
    return `event: ${name}\n${dataLine(data)}\n`;
  },
  end: "event: done\ndata: {}\n\n",
  error: (body) => `event: error\n${dataLine(body)}\n`,
};

/** OpenAI's framing: data without names. A complete stream ends with `[DONE]`, a failed one with an error's body. */
export const DATA_ONLY: Framing = {
  event: ({ data }) => `${dataLine(data)}\n`,
  end: "data: [DONE]\n\n",
  error: (body) => `${dataLine(body)}\n`,
};

/** How a stream ended: it was complete, producing an event failed, or the caller disconnected. */
export type StreamEnd = "done" | "error" | "aborted";

/** What a stream sends, and how. */
export interface EventStreamOptions {
  /** The events. The next one is requested only when the reader wants it. */
  readonly events: AsyncIterable<SseEvent>;
  /**
   * Makes the body of the last event from an error that `events` threw, and logs the error if necessary. Never
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
  /** Default: `NAMED_EVENTS`. */
  readonly framing?: Framing;
}

/** Default interval of heartbeats. By default, Bun closes a connection after 10 s without data. */
const HEARTBEAT_MS = 5_000;

const encoder = new TextEncoder();
const HEARTBEAT = encoder.encode(": keep-alive\n\n");

/**
 * The body of a streamed answer: the events in order, then the end of the framing. After a failure, one error replaces
 * the remaining events and the end. Each chunk is one event or heartbeat. An event that JSON cannot represent
 * counts as a failure.
 *
 * When the caller disconnects, `events.return()` is called in the same turn of the event loop. A generator that is
 * waiting notices this only after the wait. The function that it waits for must therefore observe the same signal.
 */
export function eventStream(options: EventStreamOptions): ReadableStream<Uint8Array> {
  return new EventStream(options).stream();
}

/** A chunk of the stream and, if it is the last one, how the stream ends. */
interface Step {
  readonly chunk: Uint8Array;
  readonly end: StreamEnd | null;
}

/** The state of one stream. */
class EventStream {
  readonly #options: EventStreamOptions;
  readonly #framing: Framing;
  readonly #iterator: AsyncIterator<SseEvent>;
  /** The event that was requested and has not arrived yet. Heartbeats in the meantime do not request another one. */
  #pending: Promise<IteratorResult<SseEvent>> | null = null;
  #waiting = new AbortController();
  #hasEnded = false;
  #hangUp = () => {};

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.#framing = options.framing ?? NAMED_EVENTS;
    this.#iterator = options.events[Symbol.asyncIterator]();
  }

  stream(): ReadableStream<Uint8Array> {
    const { signal } = this.#options;
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
      if (result.done === true) return { chunk: encoder.encode(this.#framing.end), end: "done" };
      isIterating = true;
      return { chunk: encoder.encode(this.#framing.event(result.value)), end: null };
    } catch (error) {
      if (this.#hasEnded) return null;
      if (isIterating) this.#release();
      return { chunk: encoder.encode(this.#framing.error(this.#options.errorBody(error))), end: "error" };
    }
  }

  /** The next event, or `"silence"` if there was none within `heartbeatMs`. */
  async #next(): Promise<IteratorResult<SseEvent> | "silence"> {
    const { clock, heartbeatMs = HEARTBEAT_MS } = this.#options;
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
    this.#options.signal?.removeEventListener("abort", this.#hangUp);
    this.#options.onEnd(how);
  }

  #release(): void {
    this.#iterator.return?.().catch(this.#options.onLateError);
  }

  #abandon(): void {
    this.#end("aborted");
    this.#waiting.abort();
    this.#pending?.catch(this.#options.onLateError);
    this.#release();
  }
}

/**
 * A value as a line of data, with its line break. JSON contains no unescaped line break, and lines of the format end
 * only at CR and LF, so U+2028 and U+2029 need no escape.
 */
function dataLine(data: unknown): string {
  const json: string | undefined = JSON.stringify(data);
  invariant(json !== undefined, "an event has data that JSON can represent");
  return `data: ${json}\n`;
}
