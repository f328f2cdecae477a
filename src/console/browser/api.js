// Talks to the API: sends the key, waits where a rate limit says so, and turns every failure into one kind of error. What
// is shown of it is left to the parts of the page.

import { CALLS } from "./calls.js";

const KEY_SLOT = "mneme.key";
/** A request that met a rate limit is sent this often before the refusal is shown. */
const TRIES_MAX = 3;

/** What the server (or the way to it) said in place of an answer. */
export class ApiError extends Error {
  /**
   * @param {{
   *   code: string, message: string, status?: number, param?: string, request_id?: string,
   *   retry_after_seconds?: number,
   * }} error as the API words it
   */
  constructor(error) {
    super(error.message);
    this.code = error.code;
    /** 0: no answer at all. */
    this.status = error.status ?? 0;
    this.param = error.param ?? null;
    this.requestId = error.request_id ?? null;
    this.retryAfterSeconds = error.retry_after_seconds ?? null;
  }
}

/** The key lives as long as the tab, and nowhere but in it. */
export const keyring = {
  /** @returns {string | null} */
  get: () => sessionStorage.getItem(KEY_SLOT),
  /** @param {string} key */
  keep: (key) => sessionStorage.setItem(KEY_SLOT, key),
  forget: () => sessionStorage.removeItem(KEY_SLOT),
};

/** Told what the page waits for; null: no longer. */
let onWait = (/** @type {string | null} */ _text) => {};
/** Told when the server does not take the key (any more). */
let onRefusedKey = (/** @type {ApiError} */ _error) => {};

/** @param {{ wait: typeof onWait, refusedKey: typeof onRefusedKey }} listeners */
export function listen(listeners) {
  onWait = listeners.wait;
  onRefusedKey = listeners.refusedKey;
}

/**
 * @typedef {object} Request
 * @property {Record<string, string>} [params] of the path
 * @property {Record<string, string | number | boolean | null>} [query] without those that are null or empty
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
  // the contract says when there is no body, and what is in it else
  return response.status === 204 ? /** @type {any} */ (null) : await response.json();
}

/**
 * Calls an operation that answers with Server-Sent Events.
 * @param {keyof typeof CALLS} name
 * @param {Request} request
 * @returns {AsyncGenerator<{ name: string, data: unknown }, void>}
 * @throws {ApiError} also for an `error` event, and where the stream breaks off
 */
export async function* stream(name, request) {
  const response = await send(name, request);
  let isWhole = false;
  for await (const event of eventsOf(response)) {
    if (event.name === "error") throw new ApiError(/** @type {any} */ (event.data).error);
    if (event.name === "done") isWhole = true;
    else yield event;
  }
  if (!isWhole)
    throw new ApiError({ code: "broken_off", message: "The connection broke before the answer was whole." });
}

/**
 * Asks what needs no key.
 * @param {"/ready" | "/metrics"} path
 * @returns {Promise<{ status: number, text: string }>}
 * @throws {ApiError} where the server does not answer
 */
export async function peek(path) {
  const response = await reach(path, {});
  return { status: response.status, text: await response.text() };
}

/** @param {keyof typeof CALLS} name @param {Request} request */
async function send(name, { params = {}, query = {}, body, signal }) {
  const [method = "GET", template = ""] = CALLS[name].split(" ");
  const path = template.replace(/:(\w+)/g, (_, parameter) => encodeURIComponent(params[parameter] ?? ""));
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== "");
  const search = new URLSearchParams(given.map(([field, value]) => [field, String(value)])).toString();
  const key = keyring.get() ?? "";
  const options = {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal !== undefined && { signal }),
  };
  for (let tries = 1; ; tries += 1) {
    const response = await reach(search === "" ? path : `${path}?${search}`, options);
    if (response.ok) return response;
    const error = await errorOf(response);
    // a quota's wait lasts until the month ends; only a rate limit's is waited for
    const waits = error.code === "rate_limit_exceeded" && error.retryAfterSeconds !== null && tries < TRIES_MAX;
    if (!waits) {
      if (response.status === 401 && key === keyring.get()) onRefusedKey(error);
      throw error;
    }
    await waitFor(error.retryAfterSeconds ?? 1, signal);
  }
}

/** @param {string} path @param {RequestInit} options */
async function reach(path, options) {
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
    // not the API's own words: something between here and the server answered
    const requestId = response.headers.get("x-request-id");
    return new ApiError({
      code: "unreadable_answer",
      message: `The answer was ${response.status} ${response.statusText} without a readable reason.`,
      status: response.status,
      ...(requestId !== null && { request_id: requestId }),
    });
  }
}

/** @param {number} seconds @param {AbortSignal} [signal] */
async function waitFor(seconds, signal) {
  try {
    for (let left = seconds; left > 0; left -= 1) {
      onWait(`The rate limit is reached: trying again in ${left} s.`);
      await pause(1_000, signal);
    }
  } finally {
    onWait(null);
  }
}

/**
 * Rejects with the signal's reason when it aborts.
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
        const event = /^event: (.*)\ndata: (.*)$/.exec(frame); // else a heartbeat
        if (event?.[1] !== undefined && event[2] !== undefined) yield { name: event[1], data: JSON.parse(event[2]) };
      }
    }
  } finally {
    await reader.cancel();
  }
}
