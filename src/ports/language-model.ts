// Interface of language models, which answer a short list of messages. Implemented by adapters/llm.
//
// Obligations of an implementation:
// - A call needs bounded time and memory, whatever the endpoint does: silence before or after the first byte, an
//   endless or huge answer, nonsense. A call follows no redirect. Untrusted endpoints are called only at public
//   addresses (ports/outbound.ts).
// - Text is passed on as soon as it arrives. It is read no faster than the consumer requests it, so that the buffer is
//   bounded.
// - A cut-off answer is never reported as complete. An answer ends in the way that the model reported, or with an
//   error.
// - A model's reasoning is not part of its answer.
// - If a call fails before its answer begins, the request's fallbacks are called in order. The error of a request with
//   fallbacks says how each of them failed, and its usage is the sum.
// - Token counts come from the endpoint. If it reports none, they are estimated, also for an aborted answer.
// - Error messages contain neither keys nor texts.

import type { ProjectId } from "../domain/ids.ts";
import type { JsonObject } from "../domain/json.ts";
import type { LlmEndpoint } from "../domain/language-model.ts";

/** One message of a conversation with a model. */
export interface LlmMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
  /** JPEGs in base64 that a model with vision looks at. */
  readonly pictures?: readonly string[];
}

/**
 * What a call is for. query: a user waits, so transient failures before the answer begins are retried. ingestion:
 * nobody waits, so queries have priority. Failed calls are not retried here, because ingestion has its own backoff.
 */
export type LlmPurpose = "query" | "ingestion";

/** Another model that is called with the same messages, with limits of its own. */
export type LlmFallback = Pick<LlmRequest, "endpoint" | "temperature" | "outputTokensMax">;

/** A request to a model. */
export interface LlmRequest {
  readonly endpoint: LlmEndpoint;
  /** Models that are called in order if this one fails before its answer begins. */
  readonly fallbacks?: readonly LlmFallback[];
  /** Project that makes the call. The number of concurrent calls is limited per project. */
  readonly projectId: ProjectId;
  readonly purpose: LlmPurpose;
  readonly messages: readonly LlmMessage[];
  /** Sampling temperature, 0..2. */
  readonly temperature: number;
  /** Maximum length of the answer, in tokens. A much longer one is aborted. */
  readonly outputTokensMax: number;
  /**
   * JSON Schema of the answer, with a name for the model. It is omitted for endpoints that do not support it, so the
   * messages must describe the format as well.
   */
  readonly schema?: { readonly name: string; readonly schema: JsonObject };
}

/** Token counts of one call. */
export interface LlmUsage {
  readonly prompt: number;
  readonly completion: number;
}

/** The token counts of two calls together. */
export function usageSum(left: LlmUsage, right: LlmUsage): LlmUsage {
  return { prompt: left.prompt + right.prompt, completion: left.completion + right.completion };
}

/**
 * Why a text ended. model: the model finished it. length: it was cut at `outputTokensMax`. withheld: the model refused
 * or a filter of the endpoint stopped it; the text is the refusal, if there is one.
 */
export type LlmEnding = "model" | "length" | "withheld";

/** A piece of an answer. A complete answer consists of any number of non-empty texts, then exactly one `usage`. */
export type LlmFragment =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "usage"; readonly usage: LlmUsage; readonly ending: LlmEnding };

/** A model's complete answer. */
export interface LlmAnswer {
  /** The text as received, which possibly does not follow the schema. */
  readonly text: string;
  readonly usage: LlmUsage;
}

/** Calls language models. */
export interface LanguageModel {
  /**
   * Streams the answer; the call begins when the first fragment is requested. Aborting `signal` or returning from the
   * generator ends it at once, even while a fragment is pending. While the consumer is slow, only the timeout for the
   * whole call runs. To learn the usage of an unfinished call, abort `signal` and request one more fragment: the error
   * contains it.
   * @throws LlmError if the call fails or is aborted; it contains the usage so far
   */
  stream(request: LlmRequest, signal: AbortSignal): AsyncGenerator<LlmFragment, void>;

  /**
   * Returns the complete answer. Aborting `signal` ends the call at once.
   * @throws LlmError if the call fails or is aborted
   */
  complete(request: LlmRequest, signal: AbortSignal): Promise<LlmAnswer>;
}

/**
 * Why there is no answer.
 * - overloaded: the call was not made, because too many calls of the project are running or waiting
 * - unsafe_address: the endpoint must not be called
 * - unreachable: no connection
 * - timed_out: no connection in time, or no data for too long
 * - rate_limited: status 429
 * - refused: any other status that is neither 200 nor 5xx
 * - failed: status 5xx, an error in the stream, or a broken connection
 * - malformed: the response does not follow the protocol
 * - too_long: the answer greatly exceeds the requested length
 * - stopped: the caller aborted the call
 * - budget_reached: the call was not made, because the project has used its tokens of this month
 */
export type LlmFailure =
  | "overloaded"
  | "unsafe_address"
  | "unreachable"
  | "timed_out"
  | "rate_limited"
  | "refused"
  | "failed"
  | "malformed"
  | "too_long"
  | "stopped"
  | "budget_reached";

/** Details of a failed call. */
export interface LlmErrorDetail {
  readonly status?: number;
  /** How long the endpoint asked to wait before the next call. */
  readonly retryAfterMs?: number;
  /** Tokens used; none if absent. */
  readonly usage?: LlmUsage;
  readonly cause?: unknown;
}

/** A failed call. `message` is one sentence for a log or a caller. It contains no key, text or address. */
export class LlmError extends Error {
  override readonly name = "LlmError";
  readonly status: number | null;
  readonly retryAfterMs: number | null;
  readonly usage: LlmUsage;

  constructor(
    readonly reason: LlmFailure,
    message: string,
    { status, retryAfterMs, usage, cause }: LlmErrorDetail = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.status = status ?? null;
    this.retryAfterMs = retryAfterMs ?? null;
    this.usage = usage ?? { prompt: 0, completion: 0 };
  }

  /** Whether the same call may succeed later. */
  get isTransient(): boolean {
    return ["overloaded", "unreachable", "timed_out", "rate_limited", "failed"].includes(this.reason);
  }

  /** Returns a copy of this error with another usage, and possibly another message. */
  withUsage(usage: LlmUsage, message: string = this.message): LlmError {
    const { reason, status, retryAfterMs, cause } = this;
    const known = { ...(status !== null && { status }), ...(retryAfterMs !== null && { retryAfterMs }) };
    return new LlmError(reason, message, { ...known, usage, ...(cause !== undefined && { cause }) });
  }
}
