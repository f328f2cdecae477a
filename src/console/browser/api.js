// Calls the API: sends the key, waits if a rate limit was exceeded, and turns every failure into an ApiError. The
// sections of the page show the results.

import { CALLS } from "./calls.js";

const KEY_SLOT = "mneme.key";
/** Maximum number of attempts of a rate-limited request before its error is shown. */
const ATTEMPTS_MAX = 3;

/** A failure that was reported by the server or a proxy, or a failed connection. */
export class ApiError extends Error {
  /**
   * @param {{
   *   code: string, message: string, status?: number, param?: string, request_id?: string,
   *   retry_after_seconds?: number,
   * }} error with the fields of the API's error body
   */
  constructor(error) {
    super(error.message);
    this.code = error.code;
    /** HTTP status; 0 if there was no answer. */
    this.status = error.status ?? 0;
    this.param = error.param ?? null;
    this.requestId = error.request_id ?? null;
    this.retryAfterSeconds = error.retry_after_seconds ?? null;
  }
}

/** Keeps the API key in this tab only, until the tab is closed. */
export const keyStore = {
  /** @returns {string | null} */
  get: () => sessionStorage.getItem(KEY_SLOT),
  /** @param {string} key */
  set: (key) => sessionStorage.setItem(KEY_SLOT, key),
  remove: () => sessionStorage.removeItem(KEY_SLOT),
};

/** Called with the reason when a request has to wait, and with null when the wait is over. */
let onWait = (/** @type {string | null} */ _text) => {};
/** Called when the server rejects the key. */
let onRefusedKey = (/** @type {ApiError} */ _error) => {};

/** @param {{ wait: typeof onWait, refusedKey: typeof onRefusedKey }} listeners */
export function listen(listeners) {
  onWait = listeners.wait;
  onRefusedKey = listeners.refusedKey;
}

/**
 * @typedef {object} Request
 * @property {Record<string, string>} [params] path parameters
 * @property {Record<string, string | number | boolean | null>} [query] query parameters; null and empty ones are not
 *   sent
 * @property {object} [body] sent as JSON
 * @property {AbortSignal} [signal]
 */

/**
 * Calls an operation.
 * @template {keyof import("./calls.js").Answers} Name
 * @param {Name} name
 * @param {Request} [request]
 * @returns {Promise<import("./calls.js").Answers[Name]>}
 * @throws {ApiError}
 */
export async function call(name, request = {}) {
  const response = await send(name, request);
  // The server's contract tests guarantee the type of the body.
  return response.status === 204 ? /** @type {any} */ (null) : await response.json();
}

/**
 * Calls an operation that answers with Server-Sent Events.
 * @param {keyof typeof CALLS} name
 * @param {Request} request
 * @returns {AsyncGenerator<{ name: string, data: unknown }, void>}
 * @throws {ApiError} also for an `error` event, and if the stream ends early
 */
export async function* stream(name, request) {
  const response = await send(name, request);
  let isComplete = false;
  for await (const event of eventsOf(response)) {
    if (event.name === "error") throw new ApiError(/** @type {any} */ (event.data).error);
    if (event.name === "done") isComplete = true;
    else yield event;
  }
  if (!isComplete)
    throw new ApiError({ code: "connection_lost", message: "The connection was lost before the answer was complete." });
}

/**
 * Reads a page of the server that needs no key.
 * @param {"/ready" | "/metrics"} path
 * @returns {Promise<{ status: number, text: string }>}
 * @throws {ApiError} if the server does not answer
 */
export async function readPublic(path) {
  const response = await fetchOnce(path, {});
  return { status: response.status, text: await response.text() };
}

/** @param {keyof typeof CALLS} name @param {Request} request */
async function send(name, { params = {}, query = {}, body, signal }) {
  const [method = "GET", template = ""] = CALLS[name].split(" ");
  const path = template.replace(/:(\w+)/g, (_, parameter) => encodeURIComponent(params[parameter] ?? ""));
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== "");
  const search = new URLSearchParams(given.map(([field, value]) => [field, String(value)])).toString();
  const key = keyStore.get() ?? "";
  const options = {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal !== undefined && { signal }),
  };
  for (let attempts = 1; ; attempts += 1) {
    const response = await fetchOnce(search === "" ? path : `${path}?${search}`, options);
    if (response.ok) return response;
    const error = await errorOf(response);
    // Only rate limits are waited for: an exhausted quota stays exhausted until the end of the month.
    const waits = error.code === "rate_limit_exceeded" && error.retryAfterSeconds !== null && attempts < ATTEMPTS_MAX;
    if (!waits) {
      if (response.status === 401 && key === keyStore.get()) onRefusedKey(error);
      throw error;
    }
    await waitFor(error.retryAfterSeconds ?? 1, signal);
  }
}

/** @param {string} path @param {RequestInit} options */
async function fetchOnce(path, options) {
  try {
    return await fetch(path, { ...options, cache: "no-store" });
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    throw new ApiError({ code: "unreachable", message: "The server cannot be reached. Is it running?" });
  }
}

/** @param {Response} response */
async function errorOf(response) {
  const text = await response.text();
  const header = Number(response.headers.get("retry-after"));
  const waiting = header > 0 ? { retry_after_seconds: header } : {};
  try {
    return new ApiError({ ...waiting, ...JSON.parse(text).error });
  } catch {
    // The body is not an error body of the API: a proxy has answered.
    const requestId = response.headers.get("x-request-id");
    return new ApiError({
      code: "unreadable_answer",
      message: `The server answered ${response.status} ${response.statusText} without a readable error.`,
      status: response.status,
      ...(requestId !== null && { request_id: requestId }),
    });
  }
}

/** @param {number} seconds @param {AbortSignal} [signal] */
async function waitFor(seconds, signal) {
  try {
    for (let left = seconds; left > 0; left -= 1) {
      onWait(`Rate limit reached. Trying again in ${left} s.`);
      await pause(1_000, signal);
    }
  } finally {
    onWait(null);
  }
}

/**
 * Waits; rejects with the signal's reason if it aborts.
 * @param {number} ms
 * @param {AbortSignal} [signal]
 * @returns {Promise<void>}
 */
export function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}

/** @param {Response} response @returns {AsyncGenerator<{ name: string, data: unknown }, void>} */
async function* eventsOf(response) {
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
