// Forwards requests from the thread that received them to the main thread, and the responses back. Short bodies are
// sent whole. Others are sent in pieces, each of them when its reader asks for it.

import type { App } from "../../api/app.ts";
import type { ReceivedCall, ThreadCalls } from "./thread-calls.ts";

/** Bodies up to this size, in bytes, are sent whole. */
const WHOLE_BYTES_MAX = 256 * 1024;

type HeaderList = readonly (readonly [name: string, value: string])[];

/** A request as it is forwarded. */
export interface SentRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderList;
  /** The whole body; `pieces` if it is sent in pieces; null if there is none. */
  readonly body: ArrayBuffer | "pieces" | null;
  /** IP address of the connection. */
  readonly address: string;
}

/** A whole response, or the beginning of one. */
interface SentResponse {
  readonly status: number;
  readonly headers: HeaderList;
  readonly body: ArrayBuffer | null;
}

/** A piece of a body; null is its end. */
interface SentPiece {
  readonly piece: Uint8Array | null;
}

/** A message about a body: a piece, the wish of its reader for the next one, or that the rest cannot be sent. */
type OfBody = SentPiece | "next piece" | "cut off";
type ToThread = OfBody | { readonly response: SentResponse };

/** Reads a body piece by piece. */
type PieceReader = Pick<ReadableStreamDefaultReader<Uint8Array>, "read" | "cancel">;

type Send<Message> = (message: Message, transfer?: readonly ArrayBuffer[]) => void;

/** Has the main thread answer a request. */
export async function forward(calls: ThreadCalls, request: Request, address: string): Promise<Response> {
  const { method, url } = request;
  const body = await bodyOf(request);
  const pieces = body === "pieces" ? (request.body?.getReader() ?? null) : null;
  const sent: SentRequest = { method, url, headers: [...request.headers], body, address };
  const { promise: responded, resolve, reject } = Promise.withResolvers<Response>();
  const reading = new AbortController();
  let streamed: PiecedBody | null = null;
  const onPart = (part: ToThread, send: Send<OfBody>) => {
    if (part === "next piece") void sendPiece(pieces, send);
    else if (part === "cut off") streamed?.fail(cutOff());
    else if ("piece" in part) streamed?.add(part.piece);
    else {
      streamed = new PiecedBody(
        () => send("next piece"),
        () => reading.abort(),
      );
      resolve(responseOf(part.response, streamed.stream));
    }
  };
  const signal = AbortSignal.any([request.signal, reading.signal]);
  const transfer = body instanceof ArrayBuffer ? [body] : [];
  calls.call<SentResponse | null>("forward", sent, { signal, onPart, transfer }).then(
    (whole) => {
      if (whole !== null) resolve(responseOf(whole, whole.body));
      else streamed?.add(null);
    },
    (error: unknown) => {
      streamed?.fail(error);
      reject(error);
    },
  );
  return responded;
}

/** Answers a forwarded request. Returns the whole response; null if it was sent in pieces. */
export async function answerForwarded(app: App, sent: SentRequest, call: ReceivedCall): Promise<SentResponse | null> {
  const received = sent.body === "pieces" ? new PiecedBody(() => call.emit("next piece")) : null;
  let onNext = () => {};
  call.listen((message) => {
    const of = message as OfBody;
    if (of === "next piece") onNext();
    else if (of === "cut off") received?.fail(cutOff());
    else received?.add(of.piece);
  });
  const { signal } = call;
  signal.addEventListener("abort", () => received?.fail(cutOff()), { once: true });
  const { method, url, headers } = sent;
  const body = received?.stream ?? (sent.body as ArrayBuffer | null);
  const init: RequestInit = { method, headers: headers as [string, string][], body, signal };
  const response = await app(new Request(url, init), () => sent.address);
  const head = { status: response.status, headers: [...response.headers] };
  if (response.body === null) return { ...head, body: null };
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const pieces: PieceReader = response.body.getReader();
  const first = isStream ? [] : await firstPieces(pieces);
  if (first.at(-1) === null) return { ...head, body: joined(first) };
  await sendPieces(call, head, { pieces, first }, (listener) => {
    onNext = listener;
  });
  return null;
}

/** Reads the first pieces of a body, up to WHOLE_BYTES_MAX; the last is null if these are all. */
async function firstPieces(pieces: PieceReader): Promise<(Uint8Array | null)[]> {
  const first: (Uint8Array | null)[] = [];
  for (let bytes = 0; bytes <= WHOLE_BYTES_MAX; ) {
    const { value = null } = await pieces.read();
    first.push(value);
    if (value === null) break;
    bytes += value.byteLength;
  }
  return first;
}

/** Sends a response, and each piece of its body when it is asked for. Resolves when everything is sent. */
async function sendPieces(
  call: ReceivedCall,
  head: Omit<SentResponse, "body">,
  { pieces, first }: { readonly pieces: PieceReader; readonly first: (Uint8Array | null)[] },
  onNext: (listener: () => void) => void,
): Promise<void> {
  const { promise: ended, resolve: end, reject } = Promise.withResolvers<void>();
  const cancel = () => {
    pieces.cancel(call.signal.reason).catch(reject);
    end();
  };
  if (call.signal.aborted) cancel();
  else call.signal.addEventListener("abort", cancel, { once: true });
  onNext(() => {
    void (async () => {
      try {
        const piece = first.shift() ?? (await pieces.read()).value ?? null;
        if (piece === null) end();
        else call.emit({ piece });
      } catch (error) {
        reject(error);
      }
    })();
  });
  call.emit({ response: { ...head, body: null } });
  return ended;
}

function joined(parts: readonly (Uint8Array | null)[]): ArrayBuffer {
  const whole = Buffer.concat(parts.filter((part) => part !== null));
  return whole.buffer.slice(whole.byteOffset, whole.byteOffset + whole.byteLength) as ArrayBuffer;
}

function responseOf(
  { status, headers }: SentResponse,
  body: ArrayBuffer | ReadableStream<Uint8Array> | null,
): Response {
  return new Response(body, { status, headers: headers as [string, string][] });
}

async function bodyOf(request: Request): Promise<SentRequest["body"]> {
  const { method, headers } = request;
  const length = headers.get("content-length");
  const hasBody = (length !== null && length !== "0") || headers.has("transfer-encoding");
  if (!hasBody || method === "GET" || method === "HEAD") return null;
  return length === null || Number(length) > WHOLE_BYTES_MAX ? "pieces" : request.arrayBuffer();
}

async function sendPiece(pieces: PieceReader | null, send: Send<OfBody>): Promise<void> {
  try {
    send({ piece: (await pieces?.read())?.value ?? null });
  } catch {
    send("cut off"); // the main thread answers that the body was cut off
  }
}

/** A body whose pieces arrive when its reader asks for them. */
class PiecedBody {
  readonly stream: ReadableStream<Uint8Array>;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  #next: (() => void) | null = null;

  constructor(ask: () => void, cancel: () => void = () => undefined) {
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => {
          const { promise, resolve } = Promise.withResolvers<void>();
          this.#next = resolve;
          ask();
          return promise;
        },
        cancel: () => {
          this.#controller = null;
          cancel();
        },
      },
      { highWaterMark: 0 },
    );
  }

  /** Adds the next piece; null ends the body. */
  add(piece: Uint8Array | null): void {
    if (piece === null) {
      this.#controller?.close();
      this.#controller = null;
    } else this.#controller?.enqueue(piece);
    this.#next?.();
  }

  fail(error: unknown): void {
    this.#controller?.error(error);
    this.#controller = null;
    this.#next?.();
  }
}

function cutOff(): Error {
  return new Error("the body was cut off");
}
