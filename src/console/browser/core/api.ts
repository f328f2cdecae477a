// Calls the API: sends the key, repeats a rate-limited request after the wait that the server asks for, and turns every
// failure into an ApiError.

import { signal } from "@preact/signals";
import { type Answers, CALLS } from "./calls.ts";

/** Maximum number of attempts of a rate-limited request before its error is thrown. */
const ATTEMPTS_MAX = 3;

/** The fields of the API's error body. */
interface ErrorFields {
  readonly code: string;
  readonly message: string;
  readonly status?: number;
  readonly param?: string;
  readonly request_id?: string;
  readonly retry_after_seconds?: number;
}

/** A failure that the server or a proxy reported, or a failed connection. */
export class ApiError extends Error {
  readonly code: string;
  /** HTTP status; 0 if there was no answer. */
  readonly status: number;
  readonly param: string | null;
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;

  constructor(error: ErrorFields) {
    super(error.message);
    this.code = error.code;
    this.status = error.status ?? 0;
    this.param = error.param ?? null;
    this.requestId = error.request_id ?? null;
    this.retryAfterSeconds = error.retry_after_seconds ?? null;
  }

  /** Whether the same request may succeed later: the server cannot be reached, is starting, or is busy. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** Address of the folder of the page, ending in `/`. Behind a proxy it may have a path, such as `/mneme/`. */
export const BASE = new URL("./", location.href.split(/[?#]/)[0]).href;

/** The key that requests are sent with; null if nobody is signed in. session.ts sets it. */
export const currentKey = signal<string | null>(null);
/** Seconds until a rate-limited request is sent again; null if no request waits. */
export const waiting = signal<number | null>(null);
/** The error with which the server rejected the current key (status 401); null otherwise. */
export const refusedKey = signal<ApiError | null>(null);

/** A request to an operation. */
export interface Sent {
  readonly params?: Record<string, string>;
  /** Query parameters. Null and empty values are not sent. */
  readonly query?: Record<string, string | number | boolean | null | undefined>;
  readonly body?: object;
  readonly signal?: AbortSignal;
  /** Key that is sent instead of the current one. */
  readonly key?: string;
}

/** Calls an operation. @throws ApiError */
export async function call<Name extends keyof Answers>(name: Name, request: Sent = {}): Promise<Answers[Name]> {
  const response = await send(name, request);
  // test/api checks that bodies have the types of the schema
  return (response.status === 204 ? null : await response.json()) as Answers[Name];
}

/** Calls an operation whose response is a file. @throws ApiError */
export async function readFile(name: keyof Answers, request: Sent): Promise<Blob> {
  return (await send(name, request)).blob();
}

/** An event of a streamed answer. */
export interface StreamedEvent {
  readonly name: string;
  readonly data: unknown;
}

/**
 * Calls an operation that answers with Server-Sent Events.
 * @throws ApiError also if the stream has an `error` event, or ends before its `done` event
 */
export async function* stream(name: keyof Answers, request: Sent): AsyncGenerator<StreamedEvent, void> {
  const response = await send(name, request);
  let isComplete = false;
  for await (const event of eventsOf(response)) {
    if (event.name === "error") throw new ApiError((event.data as { error: ErrorFields }).error);
    if (event.name === "done") isComplete = true;
    else yield event;
  }
  if (!isComplete)
    throw new ApiError({ code: "connection_lost", message: "The connection was lost before the answer was complete." });
}

/**
 * Requests a path that needs no key, whatever the status of the response. @throws ApiError if the server cannot be
 * reached
 */
export async function readPublic(path: "/ready"): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetchOnce(addressOf(path), {});
  return { status: response.status, text: await response.text() };
}

/** The full address of a path of the server. */
export function addressOf(path: string): string {
  return BASE + path.slice(1);
}

/** HTTP method and full address of a call. */
export function targetOf(name: keyof Answers, { params = {}, query = {} }: Sent): { method: string; url: string } {
  const [method = "GET", template = ""] = CALLS[name].split(" ");
  const path = template.replace(/:(\w+)/g, (_, parameter) => encodeURIComponent(params[parameter] ?? ""));
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const search = new URLSearchParams(given.map(([field, value]) => [field, String(value)])).toString();
  return { method, url: addressOf(search === "" ? path : `${path}?${search}`) };
}

async function send(name: keyof Answers, request: Sent): Promise<Response> {
  const { method, url } = targetOf(name, request);
  const { body, signal: aborting } = request;
  const key = request.key ?? currentKey.value ?? "";
  const isForm = body instanceof FormData;
  const options: RequestInit = {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && !isForm && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
    ...(aborting !== undefined && { signal: aborting }),
  };
  for (let attempts = 1; ; attempts += 1) {
    const response = await fetchOnce(url, options);
    if (response.ok) return response;
    const error = errorOf(await response.text(), response.status, response.statusText, response.headers);
    // only rate limits are waited for: an exhausted quota stays exhausted until the end of the month
    const waits = error.code === "rate_limit_exceeded" && error.retryAfterSeconds !== null && attempts < ATTEMPTS_MAX;
    if (!waits) {
      if (response.status === 401 && key === currentKey.value) refusedKey.value = error;
      throw error;
    }
    await waitFor(error.retryAfterSeconds ?? 1, aborting);
  }
}

async function fetchOnce(url: string, options: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...options, cache: "no-store" });
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    throw new ApiError({ code: "unreachable", message: "The server cannot be reached. Is it running?" });
  }
}

/** The error in the body of a response; `unreadable_answer` if there is none, such as in a proxy's response. */
export function errorOf(text: string, status: number, statusText: string, headers?: Headers): ApiError {
  const header = Number(headers?.get("retry-after"));
  const wait = header > 0 ? { retry_after_seconds: header } : {};
  try {
    return new ApiError({ ...wait, ...JSON.parse(text).error });
  } catch {
    return new ApiError({
      code: "unreadable_answer",
      message: `The server answered ${status} ${statusText} without a readable error.`,
      status,
    });
  }
}

async function waitFor(seconds: number, aborting?: AbortSignal): Promise<void> {
  try {
    for (let left = seconds; left > 0; left -= 1) {
      waiting.value = left;
      await pause(1_000, aborting);
    }
  } finally {
    waiting.value = null;
  }
}

/** Waits `ms` milliseconds; rejects with the signal's reason if it aborts. */
export function pause(ms: number, aborting?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(aborting?.reason);
    };
    const timer = setTimeout(() => {
      aborting?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (aborting?.aborted) stop();
    else aborting?.addEventListener("abort", stop, { once: true });
  });
}

async function* eventsOf(response: Response): AsyncGenerator<StreamedEvent, void> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const frames = (rest + value).split("\n\n");
      rest = frames.pop() ?? "";
      for (const frame of frames) {
        const event = /^event: (.*)\ndata: (.*)$/.exec(frame); // no match: a heartbeat
        if (event?.[1] !== undefined && event[2] !== undefined) yield { name: event[1], data: JSON.parse(event[2]) };
      }
    }
  } finally {
    await reader.cancel();
  }
}
