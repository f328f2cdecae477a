// What Mneme needs of a language model: an answer to a few messages. Implemented by adapters/llm.
//
// Owed by an implementation:
// - A call ends in bounded time and memory, whatever the other side does: silent before the first byte or after it, endless,
//   gigantic or nonsense. It follows no redirect, and calls an untrusted endpoint only at public addresses (ports/outbound.ts).
// - Tokens are counted as the endpoint says, and estimated where it does not say, also for an answer that was broken off.
// - Neither keys nor texts stand in an error's message.

import type { LlmEndpoint } from "../domain/language-model.ts";
import type { JsonObject } from "../domain/memory.ts";

/** One message of a conversation with a model. */
export interface LlmMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

/** What a model is asked. */
export interface LlmRequest {
  readonly endpoint: LlmEndpoint;
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

/** What a model answered. */
export interface LlmAnswer {
  /** As it came: nothing says that it follows the schema. */
  readonly text: string;
  readonly usage: LlmUsage;
}

/** Calls language models. */
export interface LanguageModel {
  /**
   * The whole answer. Aborting `signal` ends the call at once.
   * @throws LlmError
   */
  complete(request: LlmRequest, signal: AbortSignal): Promise<LlmAnswer>;
}

/**
 * Why there is no answer. unsafe_address: the endpoint may not be called. unreachable: no connection. timed_out: silent for too
 * long. rate_limited: status 429. refused: any other status that is neither 200 nor the endpoint's own failure. failed: its own
 * failure, or the connection broke off. malformed: no answer of this protocol. too_long: beyond what was asked for.
 * stopped: the caller's signal.
 */
export type LlmFailure =
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
    return ["unreachable", "timed_out", "rate_limited", "failed"].includes(this.reason);
  }
}
