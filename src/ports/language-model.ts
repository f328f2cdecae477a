// What Mneme needs of a language model: an answer to a few messages. Implemented by adapters/llm.
//
// Owed by an implementation:
// - A call ends in bounded time and memory, whatever the other side does: silent before the first byte or after it, endless,
//   gigantic or nonsense. It follows no redirect, and calls an untrusted endpoint only at public addresses (ports/outbound.ts).
// - Text is handed on when it comes, and read no faster than it is taken: what waits for a slow reader is bounded.
// - An answer that was cut off is never taken for a whole one: it ends as the model said that it ends, or with an error.
// - What a model thinks aloud is no part of its answer.
// - Tokens are counted as the endpoint says, and estimated where it does not say, also for an answer that was broken off.
// - Neither keys nor texts stand in an error's message.

import type { ProjectId } from "../domain/ids.ts";
import type { LlmEndpoint } from "../domain/language-model.ts";
import type { JsonObject } from "../domain/memory.ts";

/** One message of a conversation with a model. */
export interface LlmMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

/**
 * What a call is for. query: somebody waits for it; a passing failure before the answer begins is repeated. ingestion: nobody does, so
 * that it leaves most places to queries, and its failures to the pauses that ingestion keeps itself.
 */
export type LlmPurpose = "query" | "ingestion";

/** What a model is asked. */
export interface LlmRequest {
  readonly endpoint: LlmEndpoint;
  /** Whose call it is: so many of one project run at once. */
  readonly projectId: ProjectId;
  readonly purpose: LlmPurpose;
  readonly messages: readonly LlmMessage[];
  /** 0..2 */
  readonly temperature: number;
  /** The answer's length at most; one that is far longer is broken off. */
  readonly outputTokensMax: number;
  /**
   * JSON Schema that the answer is to follow, under a name for the model. It is left out for an endpoint that refuses such a thing,
   * so the messages must say as well what the answer is to be.
   */
  readonly schema?: { readonly name: string; readonly schema: JsonObject };
}

/** Tokens of one call. */
export interface LlmUsage {
  readonly prompt: number;
  readonly completion: number;
}

/**
 * Why a text ended. model: it was at its end. length: at `outputTokensMax`, in the middle. withheld: the model refused, or a filter
 * of the endpoint kept the rest back; the text is what was said instead, if anything.
 */
export type LlmEnding = "model" | "length" | "withheld";

/** A piece of an answer: any number of texts, none of them empty, then one `usage`, which nothing but a whole answer has. */
export type LlmFragment =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "usage"; readonly usage: LlmUsage; readonly ending: LlmEnding };

/** What a model answered. */
export interface LlmAnswer {
  /** As it came: nothing says that it follows the schema. */
  readonly text: string;
  readonly usage: LlmUsage;
}

/** Calls language models. */
export interface LanguageModel {
  /**
   * The answer as it comes; the call begins when the first fragment is asked for. Aborting `signal` or returning from the generator
   * ends it at once, also while a fragment is awaited. While its reader is slow only the time for the whole call runs on. Who wants
   * to know what an unfinished call took aborts `signal` and asks for one more fragment: the error says.
   * @throws LlmError with what the call took so far
   */
  stream(request: LlmRequest, signal: AbortSignal): AsyncGenerator<LlmFragment, void>;

  /**
   * The whole answer. Aborting `signal` ends the call at once.
   * @throws LlmError
   */
  complete(request: LlmRequest, signal: AbortSignal): Promise<LlmAnswer>;
}

/**
 * Why there is no answer. overloaded: too many calls of the project run or wait already, so that none was made. unsafe_address: the
 * endpoint may not be called. unreachable: no connection. timed_out: no connection in time, or silent for too long.
 * rate_limited: status 429. refused: any other status that is neither 200 nor the endpoint's own failure. failed: its own
 * failure, or the answer broke off. malformed: no answer of this protocol. too_long: beyond what was asked for.
 * stopped: the caller's signal.
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
  | "stopped";

/** What is known of a call without an answer. */
export interface LlmErrorDetail {
  readonly status?: number;
  /** How long the endpoint wants to be left alone. */
  readonly retryAfterMs?: number;
  /** What the call took; absent: nothing. */
  readonly usage?: LlmUsage;
  readonly cause?: unknown;
}

/** A call without an answer. `message` is one sentence for a log or a caller: no key, no text, no address. */
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
  get isPassing(): boolean {
    return ["overloaded", "unreachable", "timed_out", "rate_limited", "failed"].includes(this.reason);
  }

  /** The same failure of a call that took this. */
  withUsage(usage: LlmUsage): LlmError {
    const { reason, message, status, retryAfterMs, cause } = this;
    const known = { ...(status !== null && { status }), ...(retryAfterMs !== null && { retryAfterMs }) };
    return new LlmError(reason, message, { ...known, usage, ...(cause !== undefined && { cause }) });
  }
}
