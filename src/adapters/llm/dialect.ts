// Differences between endpoints of the same protocol: which optional request fields they accept. There is no way to ask
// an endpoint. If an endpoint refuses a field (status 400 or 422), the request is repeated without it, and the form
// that worked is remembered.

import type { LlmEndpoint } from "../../domain/language-model.ts";
import type { LlmRequest } from "../../ports/language-model.ts";
import { endpointKey } from "./endpoint-key.ts";

/**
 * Maximum number of remembered endpoints. Above it, the oldest one is forgotten; its next request has all fields again.
 */
const ENDPOINTS_MAX = 1_000;

/** The form of request that an endpoint accepts. Stream options and the length field differ only with `openai`. */
export interface Dialect {
  /** Whether requests may have a JSON Schema of the answer. */
  readonly acceptsSchema: boolean;
  /** Whether requests may have the field `stream_options`, which makes the last event report the token usage. */
  readonly acceptsStreamOptions: boolean;
  /** Whether requests may have the field `temperature`. Reasoning models accept only their default. */
  readonly acceptsTemperature: boolean;
  readonly lengthField: "max_tokens" | "max_completion_tokens";
}

const FULL_DIALECT: Dialect = {
  acceptsSchema: true,
  acceptsStreamOptions: true,
  acceptsTemperature: true,
  lengthField: "max_tokens",
};

/** Remembers the dialect of each endpoint. */
export class Dialects {
  readonly #known = new Map<string, Dialect>();

  /** Returns the dialect that worked last; the one with all fields for an unknown endpoint. */
  of(endpoint: LlmEndpoint): Dialect {
    return this.#known.get(endpointKey(endpoint)) ?? FULL_DIALECT;
  }

  /** Remembers that the endpoint answered a request in this dialect. */
  learn(endpoint: LlmEndpoint, dialect: Dialect): void {
    if (dialect === this.of(endpoint)) return;
    const oldest = this.#known.keys().next();
    if (this.#known.size >= ENDPOINTS_MAX && !oldest.done) this.#known.delete(oldest.value);
    this.#known.set(endpointKey(endpoint), dialect);
  }
}

/**
 * Returns a dialect that differs from the refused one in one field. If the refusal names `max_completion_tokens`, that
 * replaces `max_tokens`. Otherwise a field is left out: the one that the refusal names, or the one that the fewest
 * endpoints support. null if no field is left to change, so that the refusal must have another reason.
 * @param refusal body of the response
 */
export function simplerDialect(dialect: Dialect, request: LlmRequest, refusal: string): Dialect | null {
  const isOpenAi = request.endpoint.provider === "openai";
  const hasSchema = dialect.acceptsSchema && request.schema !== undefined;
  if (isOpenAi && dialect.lengthField === "max_tokens" && refusal.includes("max_completion_tokens")) {
    return { ...dialect, lengthField: "max_completion_tokens" };
  }
  if (dialect.acceptsTemperature && refusal.includes("temperature")) return { ...dialect, acceptsTemperature: false };
  const hasStreamOptions = isOpenAi && dialect.acceptsStreamOptions;
  if (hasStreamOptions && refusal.includes("stream_options")) return { ...dialect, acceptsStreamOptions: false };
  if (hasSchema) return { ...dialect, acceptsSchema: false };
  return hasStreamOptions ? { ...dialect, acceptsStreamOptions: false } : null;
}
