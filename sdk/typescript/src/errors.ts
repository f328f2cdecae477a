// Errors of the client. Every error that a call throws is a MnemeError, except the reason of a signal that ends it. An
// answer of the server with a status of 400 or more is an ApiError of a class for its status.

import type { ErrorBody, Memory } from "./core/index.ts";

/** Code of an error of the API, such as `memory_not_found`. Newer servers can have more. */
export type ErrorCode = ErrorBody["code"] | (string & {});

/** Any error of this client. */
export class MnemeError extends Error {
  override readonly name: string = "MnemeError";
}

/** What an answer with an error says. */
export interface ApiErrorParts {
  readonly status: number;
  readonly code: ErrorCode;
  readonly message: string;
  /** The server's log contains it, too. */
  readonly requestId: string | null;
  /** The field, query parameter or header that is wrong. */
  readonly param: string | null;
  /** How long to wait before the next attempt; null if waiting does not help, or the server does not say. */
  readonly retryAfterSeconds: number | null;
  /** Errors of single items of a batch. */
  readonly items: ErrorBody["items"];
}

/** An answer of the server with an error. */
export class ApiError extends MnemeError implements ApiErrorParts {
  override readonly name: string = "ApiError";
  readonly status: number;
  readonly code: ErrorCode;
  readonly requestId: string | null;
  readonly param: string | null;
  readonly retryAfterSeconds: number | null;
  readonly items: ErrorBody["items"];

  constructor(parts: ApiErrorParts) {
    super(`${parts.message} (${parts.status} ${parts.code}, request ${parts.requestId ?? "without an id"})`);
    this.status = parts.status;
    this.code = parts.code;
    this.requestId = parts.requestId;
    this.param = parts.param;
    this.retryAfterSeconds = parts.retryAfterSeconds;
    this.items = parts.items;
  }
}

/** The request is wrong: 400, 413, 415 or 422. */
export class InvalidRequestError extends ApiError {
  override readonly name = "InvalidRequestError";
}
/** The API key is missing, unknown, expired or revoked: 401. */
export class AuthenticationError extends ApiError {
  override readonly name = "AuthenticationError";
}
/** The API key may not do this: 403. */
export class PermissionError extends ApiError {
  override readonly name = "PermissionError";
}
/** What the request names does not exist for this key: 404. */
export class NotFoundError extends ApiError {
  override readonly name = "NotFoundError";
}
/** The request conflicts with the state of the server: 409. */
export class ConflictError extends ApiError {
  override readonly name = "ConflictError";
}
/** A rate limit or quota is used up: 429. */
export class RateLimitError extends ApiError {
  override readonly name = "RateLimitError";
}
/** The server failed or is busy: 500 and above. */
export class ServerError extends ApiError {
  override readonly name = "ServerError";
}

/** No answer arrived: the server cannot be reached, or the connection broke. */
export class ConnectionError extends MnemeError {
  override readonly name: string = "ConnectionError";
}
/** No answer arrived in time. */
export class TimeoutError extends ConnectionError {
  override readonly name = "TimeoutError";
}
/** An answer that is not in the format of the API. Something else than Mneme may be at this address. */
export class InvalidAnswerError extends MnemeError {
  override readonly name = "InvalidAnswerError";
}

/** A streamed answer broke off or is damaged. */
export class StreamError extends MnemeError {
  override readonly name = "StreamError";
  /** The text that arrived before. */
  readonly textSoFar: string;

  constructor(message: string, textSoFar: string, options?: ErrorOptions) {
    super(message, options);
    this.textSoFar = textSoFar;
  }
}

/** A memory was accepted, but did not become searchable. It is stored all the same. */
export class ProcessingError extends MnemeError {
  override readonly name: string = "ProcessingError";
  /** The memory as it was last seen. */
  readonly memory: Memory;

  constructor(message: string, memory: Memory) {
    super(message);
    this.memory = memory;
  }
}
/** A memory was accepted and is still being processed after the time that the caller waits. */
export class WaitTimeoutError extends ProcessingError {
  override readonly name = "WaitTimeoutError";
}

/** A webhook message that is not from the server, is damaged, or is too old. */
export class WebhookVerificationError extends MnemeError {
  override readonly name = "WebhookVerificationError";
}

/** Makes the error of an answer. */
export function apiError(parts: ApiErrorParts): ApiError {
  const { status } = parts;
  if (status === 401) return new AuthenticationError(parts);
  if (status === 403) return new PermissionError(parts);
  if (status === 404) return new NotFoundError(parts);
  if (status === 409) return new ConflictError(parts);
  if (status === 429) return new RateLimitError(parts);
  if (status === 400 || status === 413 || status === 415 || status === 422) return new InvalidRequestError(parts);
  return status >= 500 ? new ServerError(parts) : new ApiError(parts);
}

/** Longest part of a foreign body that a message quotes, in UTF-16 code units. */
const QUOTED_UNITS_MAX = 200;

/**
 * Reads the body of an error: Mneme's form, OpenAI's form, or that of a proxy.
 * @param retryAfter value of the header Retry-After
 */
export function errorParts(
  { status, requestId, retryAfter }: { status: number; requestId: string | null; retryAfter: string | null },
  body: unknown,
): ApiErrorParts {
  const found = typeof body === "object" && body !== null && "error" in body ? body.error : null;
  const error = (typeof found === "object" && found !== null ? found : {}) as Partial<ErrorBody>;
  const text = typeof body === "string" ? body.trim().slice(0, QUOTED_UNITS_MAX) : "";
  return {
    status: typeof error.status === "number" ? error.status : status,
    code: typeof error.code === "string" ? error.code : "unknown",
    message: typeof error.message === "string" ? error.message : `The server answered ${status}. ${text}`.trim(),
    requestId: requestId ?? error.request_id ?? null,
    param: typeof error.param === "string" ? error.param : null,
    retryAfterSeconds: secondsOf(retryAfter) ?? secondsOf(error.retry_after_seconds),
    items: error.items,
  };
}

function secondsOf(value: unknown): number | null {
  if (value === null || value === undefined || value === "") return null;
  const seconds = Number(value);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds : null;
}
