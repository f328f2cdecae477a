// What differs between endpoints: which optional request fields they accept, and which header carries the key. The
// protocol has no way to ask. If an endpoint refuses a field (status 400 or 422), the request is repeated without it,
// and the form that worked is remembered.

import type { LlmEndpoint } from "../../domain/language-model.ts";
import { LlmError, type LlmRequest } from "../../ports/language-model.ts";

/** Number of remembered endpoints. Beyond it, the oldest one is forgotten and starts with the full form again. */
const ENDPOINTS_MAX = 1_000;

/** The form of request that an endpoint accepts. */
export interface Dialect {
  /** `response_format` with a JSON Schema. */
  readonly acceptsSchema: boolean;
  /** `stream_options`, which makes the last event report the token usage. */
  readonly acceptsStreamOptions: boolean;
  /** `temperature`: reasoning models accept only their own. */
  readonly acceptsTemperature: boolean;
  readonly lengthField: "max_tokens" | "max_completion_tokens";
}

const FULL_DIALECT: Dialect = {
  acceptsSchema: true,
  acceptsStreamOptions: true,
  acceptsTemperature: true,
  lengthField: "max_tokens",
};

/**
 * Hosts of Azure. It takes API keys in an `api-key` header; as bearer it accepts only directory tokens (JSON Web
 * Tokens).
 */
const AZURE_HOSTS = /\.(openai|cognitiveservices|services\.ai)\.azure\.com$/;

/** Remembers the dialect of each endpoint. */
export class Dialects {
  readonly #known = new Map<string, Dialect>();

  /** The dialect that worked last; the full one for an unknown endpoint. */
  of(endpoint: LlmEndpoint): Dialect {
    return this.#known.get(keyOf(endpoint)) ?? FULL_DIALECT;
  }

  /** Remembers that the endpoint answered a request in this dialect. */
  learn(endpoint: LlmEndpoint, dialect: Dialect): void {
    if (dialect === this.of(endpoint)) return;
    const oldest = this.#known.keys().next();
    if (this.#known.size >= ENDPOINTS_MAX && !oldest.done) this.#known.delete(oldest.value);
    this.#known.set(keyOf(endpoint), dialect);
  }
}

/**
 * A simpler dialect than the refused one: without the field that the refusal names, otherwise without the least
 * supported field. null if nothing is left to drop, so the refusal has another reason.
 * @param refusal body of the response
 */
export function simplerDialect(dialect: Dialect, request: LlmRequest, refusal: string): Dialect | null {
  const hasSchema = dialect.acceptsSchema && request.schema !== undefined;
  if (dialect.lengthField === "max_tokens" && refusal.includes("max_completion_tokens")) {
    return { ...dialect, lengthField: "max_completion_tokens" };
  }
  if (dialect.acceptsTemperature && refusal.includes("temperature")) return { ...dialect, acceptsTemperature: false };
  if (dialect.acceptsStreamOptions && refusal.includes("stream_options"))
    return { ...dialect, acceptsStreamOptions: false };
  if (hasSchema) return { ...dialect, acceptsSchema: false };
  return dialect.acceptsStreamOptions ? { ...dialect, acceptsStreamOptions: false } : null;
}

/** The JSON body of a request in this dialect. */
export function requestBody(request: LlmRequest, dialect: Dialect): string {
  const { endpoint, messages, temperature, outputTokensMax, schema } = request;
  return JSON.stringify({
    model: endpoint.model,
    messages,
    [dialect.lengthField]: outputTokensMax,
    ...(dialect.acceptsTemperature && { temperature }),
    // streamed, so that a stalled endpoint can be distinguished from a slow one
    stream: true,
    ...(dialect.acceptsStreamOptions && { stream_options: { include_usage: true } }),
    ...(dialect.acceptsSchema &&
      schema !== undefined && {
        response_format: {
          type: "json_schema",
          json_schema: { name: schema.name, strict: true, schema: schema.schema },
        },
      }),
  });
}

/**
 * The headers of a request to `url`.
 * @throws LlmError `refused` if the key contains characters that no header can hold
 */
export function requestHeaders({ apiKey }: LlmEndpoint, url: URL): Record<string, string> {
  if (apiKey !== null && !/^[\x20-\x7e]*$/.test(apiKey)) {
    throw new LlmError("refused", "the endpoint's key contains characters that a header cannot hold");
  }
  return {
    "content-type": "application/json",
    accept: "text/event-stream, application/json",
    "accept-encoding": "identity",
    ...(apiKey !== null && authorisation(apiKey, url)),
  };
}

function authorisation(apiKey: string, { hostname }: URL): Record<string, string> {
  const isToken = /^eyJ[^.]+\.[^.]+\.[^.]+$/.test(apiKey);
  return AZURE_HOSTS.test(hostname) && !isToken ? { "api-key": apiKey } : { authorization: `Bearer ${apiKey}` };
}

function keyOf({ baseUrl, model }: LlmEndpoint): string {
  return JSON.stringify([baseUrl, model]);
}
