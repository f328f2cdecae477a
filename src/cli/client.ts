// HTTP client for commands and benches that call a running server. Retries while the server is busy or restarting.

import { type Clock, systemClock } from "../kit/clock.ts";
import { errorMessage } from "../kit/error-message.ts";
import { isRecord, type JsonRecord, parsedJson } from "../kit/record.ts";

/**
 * Maximum number of attempts of a request to a busy server (429, 503); with the waits below, they take about six
 * and a half minutes.
 */
const BUSY_ATTEMPTS_MAX = 20;
/**
 * Maximum number of attempts of a request to an unreachable server: enough to survive a restart, few enough to report a
 * wrong address within seconds.
 */
const LOST_ATTEMPTS_MAX = 5;
/**
 * First and longest wait, in milliseconds, if the server requests none or the connection was lost. The wait doubles
 * each time. A requested wait is cut to twice the longest one.
 */
const WAIT_FIRST_MS = 250;
const WAIT_LAST_MS = 30_000;
/** Maximum time for an attempt of a request, in milliseconds. */
const REQUEST_TIMEOUT_MS = 120_000;
/** Codes of responses with status 429 that do not end by waiting: somebody has to make room. */
const QUOTAS: readonly string[] = ["document_quota_exceeded", "storage_quota_exceeded"];

/** The server answered with an error. */
export class RequestRefused extends Error {
  override readonly name = "RequestRefused";

  constructor(
    readonly status: number,
    /** `error.code` of the response; an empty text if there was none. */
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** Options of a request. */
export interface SendOptions {
  /** Whether the request is repeated if its response was lost; it may then arrive twice. Default: true. */
  readonly isRepeatable?: boolean;
}

/** A server and the API key to use. */
export class Client {
  constructor(
    /** Base address without `/v1`. */
    readonly url: string,
    readonly key: string,
    readonly clock: Clock = systemClock,
  ) {}

  /**
   * Sends a form with a file, like `send`. Repeating it does no harm, because the file has an `externalId`.
   * @param form makes the form of each attempt
   * @throws as `send`
   */
  sendForm(path: string, form: () => FormData): Promise<JsonRecord> {
    return this.#repeat(() => this.#sendOnce("POST", path, form()), LOST_ATTEMPTS_MAX);
  }

  /**
   * Sends a request; returns the JSON object of the response, or an empty object. Retries busy responses (429 and 503,
   * but not those of `QUOTAS`) after the wait that the server requests, and lost connections if the request is
   * repeatable.
   * @throws RequestRefused for any other status from 400 on, and if the server stays busy; Error if it is unreachable
   */
  async send(
    method: "GET" | "POST" | "PUT" | "DELETE",
    path: string,
    body?: unknown,
    { isRepeatable = true }: SendOptions = {},
  ): Promise<JsonRecord> {
    const text = body === undefined ? null : JSON.stringify(body);
    return this.#repeat(() => this.#sendOnce(method, path, text), isRepeatable ? LOST_ATTEMPTS_MAX : 1);
  }

  async #repeat(sendOnce: () => Promise<Outcome>, lostAttemptsMax: number): Promise<JsonRecord> {
    let waitMs = WAIT_FIRST_MS;
    for (let attempt = 1; ; attempt++) {
      const outcome = await sendOnce();
      if (outcome.kind === "answered") return outcome.body;
      const attemptsMax = outcome.kind === "busy" ? BUSY_ATTEMPTS_MAX : lostAttemptsMax;
      if (attempt >= attemptsMax) throw outcome.error;
      await this.clock.sleep((outcome.kind === "busy" ? outcome.waitMs : null) ?? waitMs);
      waitMs = Math.min(WAIT_LAST_MS, waitMs * 2);
    }
  }

  async #sendOnce(method: string, path: string, sent: string | FormData | null): Promise<Outcome> {
    let response: Response;
    let answerText: string;
    try {
      response = await fetch(`${this.url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${this.key}`,
          ...(typeof sent === "string" && { "content-type": "application/json" }),
        },
        ...(sent !== null && { body: sent }),
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
      answerText = await response.text();
    } catch (cause) {
      const why = errorMessage(cause);
      return { kind: "lost", error: new Error(`No answer from ${this.url}: ${why}`, { cause }) };
    }
    const body = parseRecord(answerText);
    if (response.ok) return { kind: "answered", body };
    const detail = isRecord(body.error) ? body.error : {};
    const message = typeof detail.message === "string" ? detail.message : `HTTP ${response.status}`;
    const refusal = new RequestRefused(response.status, String(detail.code ?? ""), message);
    const isQuota = response.status === 429 && QUOTAS.includes(refusal.code);
    if (isQuota || (response.status !== 429 && response.status !== 503)) throw refusal;
    return { kind: "busy", waitMs: requestedWaitMs(response, detail), error: refusal };
  }
}

type Outcome =
  | { readonly kind: "answered"; readonly body: JsonRecord }
  | { readonly kind: "busy"; readonly waitMs: number | null; readonly error: RequestRefused }
  | { readonly kind: "lost"; readonly error: Error };

// The wait that the server requests. A 429 names it in a header, a 503 in its body.
function requestedWaitMs(response: Response, detail: JsonRecord): number | null {
  const seconds = Number(response.headers.get("retry-after") ?? detail.retry_after_seconds ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(WAIT_LAST_MS * 2, seconds * 1000) : null;
}

function parseRecord(text: string): JsonRecord {
  const value = parsedJson(text);
  return isRecord(value) ? value : {}; // a text that is not JSON, such as the error page of a proxy, is not shown
}
