// Sends one call: builds the request with the generated core, repeats it where that is safe, and turns every failure
// into an error of errors.ts, except the reason of a signal that ends the call.

import { type Client, createClient, createConfig } from "./core/client/index.ts";
import { ApiError, apiError, ConnectionError, errorParts, InvalidAnswerError, TimeoutError } from "./errors.ts";

/** Options of every call. */
export interface CallOptions {
  /** Ends the call. */
  readonly signal?: AbortSignal;
  /** Limit of one attempt in milliseconds; for a stream, until it begins. Default: that of the client. */
  readonly timeoutMs?: number;
  /** Maximum number of repetitions of a call that failed. Default: that of the client. */
  readonly retriesMax?: number;
  /** Id of the request in the server's log. Default: the server makes one. */
  readonly requestId?: string;
}

/** Options of a call that changes something. */
export interface WriteOptions extends CallOptions {
  /**
   * Two calls with the same key within 24 hours do the work once. Default: a new key per call, so that repetitions of
   * this call are safe.
   */
  readonly idempotencyKey?: string;
}

/**
 * When a call may be repeated. `always`: doing it twice is the same as once. `keyed`: an Idempotency-Key makes it so.
 * `refused`: only if the server says that it did nothing (429, 503).
 */
export type Repeatable = "always" | "keyed" | "refused";

/** Options that the transport passes to the core. */
export interface CoreOptions {
  readonly client: Client;
  readonly headers: { "Idempotency-Key"?: string; "X-Request-Id"?: string };
  readonly signal: AbortSignal;
  readonly redirect: "error";
}

/** A result of the core. */
export interface CoreResult<Data> {
  readonly data?: Data | undefined;
  readonly error?: unknown;
  readonly response?: Response | undefined;
}

/** One attempt of a call, with its signal and its time limit. */
interface Attempt {
  readonly signal: AbortSignal;
  readonly hasTimedOut: () => boolean;
  /** Ends the time limit, for an answer that is a stream. */
  readonly begin: () => void;
  readonly end: () => void;
}

/** What the transport needs. */
export interface TransportParts {
  /** Address of the API, with `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly timeoutMs: number;
  readonly retriesMax: number;
  readonly fetch: typeof fetch | undefined;
  readonly userAgent: string | null;
}

/** An answer that is a stream. */
export interface OpenStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly requestId: string | null;
  /** Ends the connection. */
  readonly close: () => void;
}

/** First and longest pause before a repetition, in milliseconds. The pause doubles each time. */
const FIRST_PAUSE_MS = 500;
const PAUSE_MS_MAX = 8_000;
/** A longer pause that the server asks for (the end of a monthly quota) is not waited for. */
const RETRY_AFTER_SECONDS_MAX = 60;
/** Maximum share of a requested pause that is added at random, so that clients do not come back all at once. */
const JITTER = 0.25;

/** Sends calls. */
export class Transport {
  readonly #parts: TransportParts;
  readonly #client: Client;

  constructor(parts: TransportParts) {
    this.#parts = parts;
    const { baseUrl, apiKey, fetch, userAgent } = parts;
    this.#client = createClient(
      createConfig({
        baseUrl,
        auth: () => apiKey,
        ...(fetch !== undefined && { fetch }),
        ...(userAgent !== null && { headers: { "User-Agent": userAgent } }),
      }),
    );
  }

  /** The answer of a call. */
  async call<Data>(
    run: (core: CoreOptions) => Promise<CoreResult<Data>>,
    repeatable: Repeatable,
    options: WriteOptions = {},
  ): Promise<Data> {
    const { data } = await this.#repeat(run, repeatable, options, (attempt) => attempt.end());
    return data as Data;
  }

  /** The answer of a call that streams. */
  async stream(
    run: (core: CoreOptions & { readonly parseAs: "stream" }) => Promise<CoreResult<unknown>>,
    repeatable: Repeatable,
    options: WriteOptions = {},
  ): Promise<OpenStream> {
    let opened: Attempt | null = null;
    const { data, response } = await this.#repeat(
      (core) => run({ ...core, parseAs: "stream" }),
      repeatable,
      options,
      (attempt) => {
        attempt.begin();
        opened = attempt;
      },
    );
    const isStream = response?.headers.get("content-type")?.startsWith("text/event-stream") === true;
    if (!isStream || !(data instanceof ReadableStream)) {
      throw new InvalidAnswerError("The answer is not an event stream.");
    }
    return { body: data, requestId: requestIdOf(response), close: () => opened?.end() };
  }

  /** The file that a call answers with. The time limit ends when its body begins. */
  async file(
    run: (core: CoreOptions & { readonly parseAs: "stream" }) => Promise<CoreResult<unknown>>,
    options: CallOptions = {},
  ): Promise<{ readonly body: ReadableStream<Uint8Array>; readonly headers: Headers }> {
    const { data, response } = await this.#repeat(
      (core) => run({ ...core, parseAs: "stream" }),
      "always",
      options,
      (attempt) => attempt.begin(),
    );
    if (response === undefined || !(data instanceof ReadableStream)) {
      throw new InvalidAnswerError("The answer is not a file.");
    }
    return { body: data, headers: response.headers };
  }

  /** A deletion. Status 404 is a success after an attempt whose answer was lost. */
  async remove(run: (core: CoreOptions) => Promise<CoreResult<unknown>>, options: CallOptions = {}): Promise<void> {
    let attempts = 0;
    try {
      await this.call(
        (core) => {
          attempts++;
          return run(core);
        },
        "always",
        options,
      );
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404 && attempts > 1)) throw error;
    }
  }

  async #repeat<Data>(
    run: (core: CoreOptions) => Promise<CoreResult<Data>>,
    repeatable: Repeatable,
    options: WriteOptions,
    onAnswer: (attempt: Attempt) => void,
  ): Promise<CoreResult<Data>> {
    const retriesMax = options.retriesMax ?? this.#parts.retriesMax;
    const headers = headersOf(repeatable, options);
    for (let retries = 0; ; retries++) {
      options.signal?.throwIfAborted();
      const attempt = startAttempt(options.timeoutMs ?? this.#parts.timeoutMs, options.signal);
      const result = await run({ client: this.#client, headers, signal: attempt.signal, redirect: "error" });
      const failure = failureOf(result, attempt, this.#parts.baseUrl);
      if (failure === null) {
        onAnswer(attempt);
        return result;
      }
      attempt.end();
      options.signal?.throwIfAborted();
      const pauseMs = retries < retriesMax ? pauseBefore(failure, repeatable, retries) : null;
      if (pauseMs === null) throw failure;
      await sleep(pauseMs, options.signal);
    }
  }
}

function headersOf(repeatable: Repeatable, options: WriteOptions): CoreOptions["headers"] {
  const key = options.idempotencyKey ?? (repeatable === "keyed" ? randomKey() : undefined);
  return {
    ...(key !== undefined && { "Idempotency-Key": key }),
    ...(options.requestId !== undefined && { "X-Request-Id": options.requestId }),
  };
}

/** 128 random bits. `crypto.randomUUID` is missing on pages without https. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function startAttempt(timeoutMs: number, signal: AbortSignal | undefined): Attempt {
  const controller = new AbortController();
  let hasTimedOut = false;
  const timer = setTimeout(() => {
    hasTimedOut = true;
    controller.abort();
  }, timeoutMs);
  const abort = () => controller.abort(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  const begin = () => clearTimeout(timer);
  const end = () => {
    begin();
    signal?.removeEventListener("abort", abort);
    controller.abort();
  };
  return { signal: controller.signal, hasTimedOut: () => hasTimedOut, begin, end };
}

/** The error of a result; null if it is a success. */
function failureOf({ error, response }: CoreResult<unknown>, attempt: Attempt, baseUrl: string): Error | null {
  if (attempt.hasTimedOut()) return new TimeoutError("No answer arrived in time.", { cause: error });
  if (response === undefined) {
    return new ConnectionError(`No answer from ${baseUrl}: ${reasonOf(error)}`, { cause: error });
  }
  if (!response.ok) {
    const { status, headers } = response;
    return apiError(
      errorParts({ status, requestId: requestIdOf(response), retryAfter: headers.get("retry-after") }, error),
    );
  }
  if (error === undefined) return null;
  // a success whose body did not arrive, or is not JSON
  if (error instanceof SyntaxError) return new InvalidAnswerError("The answer is not JSON.", { cause: error });
  return new ConnectionError(`The answer broke off: ${reasonOf(error)}`, { cause: error });
}

// The message of fetch says little; its cause says which connection failed and why.
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "the connection failed";
  return error.cause instanceof Error && error.cause.message !== "" ? error.cause.message : error.message;
}

function requestIdOf(response: Response | undefined): string | null {
  return response?.headers.get("x-request-id") ?? null;
}

/** The pause before the next attempt in milliseconds; null if there is none. */
function pauseBefore(failure: Error, repeatable: Repeatable, retries: number): number | null {
  if (!isTransient(failure, repeatable, retries)) return null;
  const asked = failure instanceof ApiError ? failure.retryAfterSeconds : null;
  if (asked !== null && asked > RETRY_AFTER_SECONDS_MAX) return null;
  const random = (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) / 2 ** 32;
  if (asked !== null) return asked * 1_000 * (1 + JITTER * random);
  // between half and all of the pause
  return Math.min(FIRST_PAUSE_MS * 2 ** retries, PAUSE_MS_MAX) * (1 - random / 2);
}

function isTransient(failure: Error, repeatable: Repeatable, retries: number): boolean {
  const isSafe = repeatable !== "refused";
  if (failure instanceof ConnectionError) return isSafe;
  if (!(failure instanceof ApiError)) return false;
  const { status, code, retryAfterSeconds } = failure;
  // without a time, a 429 is a quota that does not come back
  if (status === 429) return retryAfterSeconds !== null;
  if (status === 503) return true;
  // the first attempt, whose answer was lost, is still running
  if (code === "idempotency_conflict") return repeatable === "keyed" && retries > 0;
  return isSafe && (status === 500 || status === 502 || status === 504) && !code.startsWith("llm_");
}

/** Waits. @throws the reason of `signal` when it aborts */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true });
  });
}
