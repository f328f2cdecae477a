// Differences between endpoints: which optional request fields they accept, and which header contains the key. The
// protocol has no way to ask an endpoint. If an endpoint refuses a field (status 400 or 422), the request is repeated
// without it, and the form that worked is remembered.

import type { LlmEndpoint } from "../../domain/language-model.ts";
import { LlmError, type LlmRequest } from "../../ports/language-model.ts";

/**
 * Maximum number of remembered endpoints. Above it, the oldest one is forgotten; its next request has all fields again.
 */
const ENDPOINTS_MAX = 1_000;

/** The form of request that an endpoint accepts. */
export interface Dialect {
  /** Whether requests may have the field `response_format` with a JSON Schema. */
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

/**
 * Hosts of Azure. Azure expects API keys in the header `api-key`. As a bearer token it accepts only JSON Web Tokens of
 * its directory.
 */
const AZURE_HOSTS = /\.(openai|cognitiveservices|services\.ai)\.azure\.com$/;

/** Remembers the dialect of each endpoint. */
export class Dialects {
  readonly #known = new Map<string, Dialect>();

  /** Returns the dialect that worked last; the one with all fields for an unknown endpoint. */
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
 * Returns a dialect with one field less than the refused one: without the field that the refusal names, otherwise
 * without the field that the fewest endpoints support. null if no field is left to omit, so that the refusal must have
 * another reason.
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

/** Returns the JSON body of a request in this dialect. */
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
 * Returns the headers of a request to `url`.
 * @throws LlmError `refused` if the key contains characters that are not allowed in headers
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
