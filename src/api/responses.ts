// Makes every Response of the server, or completes the one that a protocol endpoint made, so that headers and error
// bodies are the same everywhere. Errors get their code and status from errors.ts. The form of error bodies and streams
// follows the conventions of their route (conventions.ts).

import type { Fault } from "../domain/fault.ts";
import type { Clock } from "../kit/clock.ts";
import type { Log } from "../kit/log.ts";
import type { ConventionsOf } from "./conventions.ts";
import type { Cors } from "./cors.ts";
import { faultOf, STATUS_OF } from "./errors.ts";
import { type Admission, addWindowHeaders } from "./gate.ts";
import { type Answer, EventBody, FileBody, JsonText, Page } from "./operation.ts";
import { eventStream } from "./sse.ts";

/** What responses need. */
export interface ResponseDependencies {
  readonly cors: Cors;
  /**
   * Translates an adapter's error to a Fault for the caller. null if the caller should learn only that something
   * failed.
   */
  readonly explainFailure: (error: unknown) => Fault | null;
  readonly clock: Clock;
  readonly log: Log;
}

/** Makes responses from answers, failures and event streams. */
export class Responses {
  readonly #uses: ResponseDependencies;
  readonly #conventionsOf: ConventionsOf;

  constructor(uses: ResponseDependencies, conventionsOf: ConventionsOf) {
    this.#uses = uses;
    this.#conventionsOf = conventionsOf;
  }

  /** The response to a request. @param extra further headers, in lower case */
  of(request: Request, admission: Admission, answer: Answer, extra?: Record<string, string>): Response {
    const headers = this.#headersOf(request, admission);
    if (answer.isReplayed === true) headers["idempotent-replayed"] = "true";
    if (extra !== undefined) Object.assign(headers, extra);
    const { status, body } = answer;
    if (body instanceof FileBody && body.content === null) admission.fileBytes = body.headers["content-length"] ?? null;
    return body instanceof EventBody
      ? new Response(this.#streamOf(request, admission, body), { status, headers: { ...headers, ...STREAM_HEADERS } })
      : responseOf(answer, headers);
  }

  /** Adds the headers of every response to one that a protocol endpoint has made. */
  adopted(request: Request, admission: Admission, response: Response): Response {
    const headers = this.#headersOf(request, admission);
    if (response.headers.get("content-type")?.startsWith("text/event-stream") === true) {
      headers["x-accel-buffering"] = STREAM_HEADERS["x-accel-buffering"];
    }
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
    return response;
  }

  #headersOf(request: Request, admission: Admission): Record<string, string> {
    const { cors } = this.#uses;
    const headers: Record<string, string> = { "x-request-id": admission.requestId };
    if (admission.window !== null) addWindowHeaders(headers, admission.window);
    if (cors.isOn) Object.assign(headers, cors.headersFor(request.headers.get("origin")));
    return headers;
  }

  /** The response to a request that failed. */
  ofFailure(request: Request, admission: Admission, error: unknown): Response {
    const fault = this.faultOf(request, error, admission.requestId);
    const status = STATUS_OF[fault.code];
    const body = this.#conventionsOf(admission.path).errorBody(fault, admission.requestId);
    return this.of(
      request,
      admission,
      { status, body },
      {
        ...(status === 401 && { "www-authenticate": "Bearer" }),
        ...(fault.fileBytes !== undefined && { "content-range": `bytes */${fault.fileBytes}` }),
        ...(status === 405 && { allow: fault.allow.join(", ") }),
        ...(status === 429 &&
          fault.retryAfterSeconds !== undefined && { "retry-after": String(fault.retryAfterSeconds) }),
      },
    );
  }

  /** Sends events. A failure becomes the last event of the stream. */
  #streamOf(request: Request, admission: Admission, { events, onEnd }: EventBody): ReadableStream<Uint8Array> {
    const { clock, log } = this.#uses;
    const { requestId, path } = admission;
    const { errorBody, framing } = this.#conventionsOf(path);
    const { promise, resolve } = Promise.withResolvers<void>();
    admission.ended = promise;
    return eventStream({
      events,
      clock,
      signal: request.signal,
      framing,
      errorBody: (error) => errorBody(this.faultOf(request, error, requestId), requestId),
      onEnd: (how) => {
        // Nothing awaits this promise, so its rejection is caught here; otherwise it would end the process.
        const stored = async () => onEnd(how);
        stored()
          .catch((err: unknown) => log.error({ requestId, err }, "the end of a stream could not be stored"))
          .finally(resolve);
      },
      onLateError: (err) => log.debug({ requestId, err }, "a stream failed after its end"),
    });
  }

  /** Converts an error to a fault. Internal errors are logged with their cause. */
  faultOf(request: Pick<Request, "signal">, error: unknown, requestId: string): Fault {
    const fault = this.#uses.explainFailure(error) ?? faultOf(error);
    if (fault.code === "internal_error") {
      // If a caller disconnects, the work can fail; that is not an error of the server.
      const level = request.signal.aborted ? "debug" : "error";
      this.#uses.log[level]({ requestId, err: fault.cause }, "a request failed with an internal error");
    }
    return fault;
  }
}

const STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
  "x-accel-buffering": "no", // without it nginx buffers the whole stream
} as const;

function responseOf({ status, body }: Answer, headers: Record<string, string>): Response {
  if (body === null) return new Response(null, { status, headers });
  if (body instanceof Page) {
    headers["content-type"] = body.contentType;
    return new Response(body.content, { status, headers: { ...headers, ...body.headers } });
  }
  if (body instanceof FileBody) return new Response(body.content, { status, headers: { ...headers, ...body.headers } });
  headers["content-type"] = "application/json; charset=utf-8";
  return new Response(body instanceof JsonText ? body.text : JSON.stringify(body), { status, headers });
}

/**
 * The response to HEAD: the response to GET without its body, but with the length of that body (RFC 9110, 9.3.2 and
 * 8.6). Without this, Bun would send length 0. Elysia does the same for responses of routes; this function is for all
 * other responses, and for files, which are not read to know their length.
 * @param fileBytes length of a file; null if the answer is no file
 */
export async function headOf(response: Response, fileBytes: string | null): Promise<Response> {
  if (fileBytes !== null) {
    const headers = new Headers(response.headers);
    headers.set("content-length", fileBytes);
    return new Response(null, { status: response.status, headers });
  }
  if (response.body === null) return response;
  const headers = new Headers(response.headers);
  headers.set("content-length", String((await response.arrayBuffer()).byteLength));
  return new Response(null, { status: response.status, headers });
}
