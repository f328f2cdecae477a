// A client of a running server: the few operations that commands and benches need, with patience for a busy server.

import { type Clock, systemClock } from "../kit/clock.ts";

/** A busy server is asked this often before a request counts as failed; with the waits below, over about eight minutes. */
const BUSY_ATTEMPTS_MAX = 20;
/** A server that cannot be reached is asked this often: a restart is survived, a wrong address is told in seconds. */
const LOST_ATTEMPTS_MAX = 5;
/** The first wait after 503 or a lost connection when the server names none; doubled each time up to the last. */
const WAIT_FIRST_MS = 250;
const WAIT_LAST_MS = 30_000;
const REQUEST_TIMEOUT_MS = 120_000;

/** The server answered, and refused. */
export class RequestRefused extends Error {
  override readonly name = "RequestRefused";

  constructor(
    readonly status: number,
    /** `error.code` of the answer, or an empty text when it had none. */
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** How a request is sent. */
export interface SendOptions {
  /** Whether it may arrive twice, so that it can be sent again when its answer was lost; default: yes. */
  readonly isRepeatable?: boolean;
}

/** A JSON object of an answer, not looked into yet. */
export type JsonRecord = Readonly<Record<string, unknown>>;

/** Whether a JSON value is an object. */
export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** One server and one key. */
export class Client {
  constructor(
    /** Without `/v1`. */
    readonly url: string,
    readonly key: string,
    readonly clock: Clock = systemClock,
  ) {}

  /**
   * Sends a request and returns the answer's JSON object, an empty one where there is none. Busy answers (429, 503) are tried
   * again after the time that the server asks for, and so are lost connections where the request can be repeated.
   * @throws RequestRefused on any other status from 400, and when the server stays busy; Error when it cannot be reached.
   */
  async send(
    method: "GET" | "POST" | "PUT" | "DELETE",
    path: string,
    body?: unknown,
    { isRepeatable = true }: SendOptions = {},
  ): Promise<JsonRecord> {
    const text = body === undefined ? null : JSON.stringify(body);
    let waitMs = WAIT_FIRST_MS;
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#sendOnce(method, path, text);
      if (outcome.kind === "answered") return outcome.body;
      const lostAttemptsMax = isRepeatable ? LOST_ATTEMPTS_MAX : 1;
      const attemptsMax = outcome.kind === "busy" ? BUSY_ATTEMPTS_MAX : lostAttemptsMax;
      if (attempt >= attemptsMax) throw outcome.error;
      await this.clock.sleep((outcome.kind === "busy" ? outcome.waitMs : null) ?? waitMs);
      waitMs = Math.min(WAIT_LAST_MS, waitMs * 2);
    }
  }

  async #sendOnce(method: string, path: string, text: string | null): Promise<Outcome> {
    let response: Response;
    let answerText: string;
    try {
      response = await fetch(`${this.url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${this.key}`,
          ...(text === null ? {} : { "content-type": "application/json" }),
        },
        ...(text === null ? {} : { body: text }),
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
      answerText = await response.text();
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      return { kind: "lost", error: new Error(`No answer from ${this.url}: ${why}`, { cause }) };
    }
    const body = parseRecord(answerText);
    if (response.ok) return { kind: "answered", body };
    const detail = isRecord(body.error) ? body.error : {};
    const message = typeof detail.message === "string" ? detail.message : `HTTP ${response.status}`;
    const refusal = new RequestRefused(response.status, String(detail.code ?? ""), message);
    if (response.status !== 429 && response.status !== 503) throw refusal;
    return { kind: "busy", waitMs: askedWaitMs(response, detail), error: refusal };
  }
}

type Outcome =
  | { readonly kind: "answered"; readonly body: JsonRecord }
  | { readonly kind: "busy"; readonly waitMs: number | null; readonly error: RequestRefused }
  | { readonly kind: "lost"; readonly error: Error };

// 429 says it in a header, 503 in its body.
function askedWaitMs(response: Response, detail: JsonRecord): number | null {
  const seconds = Number(response.headers.get("retry-after") ?? detail.retry_after_seconds ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(WAIT_LAST_MS * 2, seconds * 1000) : null;
}

function parseRecord(text: string): JsonRecord {
  if (text === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : {};
  } catch {
    return {}; // a proxy's page, for instance: the status tells enough
  }
}
