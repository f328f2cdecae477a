// Streams that a server sends to a command (control.ts): lines of JSON, or frames, which are lines with bytes after
// them. A failure after the first byte was sent is the last line.

import { errorMessage } from "../kit/error-message.ts";
import { ByteReader } from "./byte-reader.ts";

/** Time in milliseconds after which an answer is ended if nobody reads it. */
const UNREAD_MS_MAX = 10 * 60 * 1000;

/** A value and bytes that belong to it. */
export interface Frame<Value> {
  readonly value: Value;
  readonly bytes: readonly Uint8Array[];
}

/** A failure after the first byte was sent: the last line of a stream. */
export interface StreamFailure {
  readonly type: "error";
  readonly message: string;
}

type FrameLine<Value> =
  | { readonly type: "frame"; readonly value: Value; readonly sizes: readonly number[] }
  | { readonly type: "end"; readonly frames: number }
  | StreamFailure;

/** A value as a line of JSON. */
export function lineOf(value: object): Uint8Array {
  return new TextEncoder().encode(`${JSON.stringify(value)}\n`);
}

/** An answer with frames. */
export function framesAnswer<Value>(frames: AsyncIterable<Frame<Value>>): Response {
  const line = (value: FrameLine<Value>) => lineOf(value);
  async function* pieces(): AsyncGenerator<Uint8Array> {
    let count = 0;
    for await (const { value, bytes } of frames) {
      count += 1;
      yield line({ type: "frame", value, sizes: bytes.map(({ length }) => length) });
      for (const piece of bytes) if (piece.length > 0) yield piece;
    }
    yield line({ type: "end", frames: count });
  }
  return new Response(bodyOf(pieces()), { headers: { "content-type": "application/octet-stream" } });
}

/** Reads the frames of an answer. If the caller stops early, the rest is cancelled. @throws Error if it is cut off */
export async function* framesOf<Value>({ body }: Response): AsyncGenerator<Frame<Value>> {
  const reader = new ByteReader(body);
  try {
    for (let count = 0; ; count++) {
      const text = await reader.line();
      if (text === null) throw new Error("The server stopped before its answer was complete; run the command again.");
      const line = JSON.parse(text) as FrameLine<Value>;
      if (line.type === "error") throw new Error(line.message);
      if (line.type === "end" && line.frames === count) return;
      if (line.type !== "frame") throw new Error("The answer of the server is not complete.");
      const bytes: Uint8Array[] = [];
      for (const size of line.sizes) bytes.push(await reader.take(size));
      yield { value: line.value, bytes };
    }
  } finally {
    await reader.cancel();
  }
}

/**
 * A body that consists of these pieces. A failure becomes its last line.
 * @param unreadMsMax if nobody reads for this time, in milliseconds, the body fails and `pieces` is ended: a command
 *   that hangs must not hold a snapshot for ever
 */
export function bodyOf(pieces: AsyncGenerator<Uint8Array>, unreadMsMax = UNREAD_MS_MAX): ReadableStream<Uint8Array> {
  let timer: Timer | null = null;
  const stopTimer = () => {
    if (timer !== null) clearTimeout(timer);
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        stopTimer();
        try {
          const next = await pieces.next();
          if (next.done) return controller.close();
          controller.enqueue(next.value);
          timer = setTimeout(() => {
            controller.error(new Error("the command did not read"));
            void pieces.return(undefined);
          }, unreadMsMax);
        } catch (error) {
          const failure: StreamFailure = { type: "error", message: errorMessage(error) };
          controller.enqueue(lineOf(failure));
          controller.close();
        }
      },
      async cancel() {
        stopTimer();
        await pieces.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

/** The lines of a stream of bytes, without their line ends. */
export async function* linesOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<string> {
  if (body === null) return;
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  for await (const chunk of body) {
    const parts = decoder.decode(chunk, { stream: true }).split("\n");
    for (const [at, part] of parts.entries()) {
      pieces.push(part);
      if (at === parts.length - 1) break;
      yield pieces.join("");
      pieces = [];
    }
  }
  const last = pieces.join("") + decoder.decode();
  if (last !== "") yield last;
}
