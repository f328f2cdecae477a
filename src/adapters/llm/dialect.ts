// What of a chat completion's request endpoints take: which optional fields, and where they look for the key. The protocol has no
// way to ask: an endpoint that refuses a field (status 400 or 422) is asked again without it, and what then worked is remembered.

import type { LlmEndpoint } from "../../domain/language-model.ts";
import { LlmError, type LlmRequest } from "../../ports/language-model.ts";

/** Endpoints that are remembered; beyond, the oldest is asked afresh. */
const ENDPOINTS_MAX = 1_000;

/** What an endpoint takes. */
export interface Dialect {
  /** `response_format` with a JSON Schema. */
  readonly takesSchema: boolean;
  /** `stream_options`, by which the last event says how many tokens it were. */
  readonly takesStreamOptions: boolean;
  /** Models that reason have a temperature of their own. */
  readonly takesTemperature: boolean;
  readonly lengthField: "max_tokens" | "max_completion_tokens";
}

const RICHEST: Dialect = {
  takesSchema: true,
  takesStreamOptions: true,
  takesTemperature: true,
  lengthField: "max_tokens",
};

/** Hosts of Azure, which takes keys in a header of its own and as bearers nothing but tokens of its directory (JSON Web Tokens). */
const AZURE_HOSTS = /\.(openai|cognitiveservices|services\.ai)\.azure\.com$/;

/** What is known of endpoints. */
export class Dialects {
  readonly #known = new Map<string, Dialect>();

  /** What this endpoint takes as far as is known; everything, where nothing is. */
  of(endpoint: LlmEndpoint): Dialect {
    return this.#known.get(keyOf(endpoint)) ?? RICHEST;
  }

  /** The endpoint answered to this. */
  learn(endpoint: LlmEndpoint, dialect: Dialect): void {
    if (dialect === this.of(endpoint)) return;
    const oldest = this.#known.keys().next();
    if (this.#known.size >= ENDPOINTS_MAX && !oldest.done) this.#known.delete(oldest.value);
    this.#known.set(keyOf(endpoint), dialect);
  }
}

/**
 * A plainer dialect than the one that was refused: without the field that the refusal names, else without the rarest. null: it
 * cannot be plainer, so something else is refused.
 * @param refusal the body of the answer
 */
export function plainer(dialect: Dialect, request: LlmRequest, refusal: string): Dialect | null {
  const hasSchema = dialect.takesSchema && request.schema !== undefined;
  if (dialect.lengthField === "max_tokens" && refusal.includes("max_completion_tokens")) {
    return { ...dialect, lengthField: "max_completion_tokens" };
  }
  if (dialect.takesTemperature && refusal.includes("temperature")) return { ...dialect, takesTemperature: false };
  if (dialect.takesStreamOptions && refusal.includes("stream_options"))
    return { ...dialect, takesStreamOptions: false };
  if (hasSchema) return { ...dialect, takesSchema: false };
  return dialect.takesStreamOptions ? { ...dialect, takesStreamOptions: false } : null;
}

/** The body of a request in this dialect, as JSON. */
export function bodyOf(request: LlmRequest, dialect: Dialect): string {
  const { endpoint, messages, temperature, outputTokensMax, schema } = request;
  return JSON.stringify({
    model: endpoint.model,
    messages,
    [dialect.lengthField]: outputTokensMax,
    ...(dialect.takesTemperature && { temperature }),
    // streamed, so that an endpoint which stalls is told from one which takes its time
    stream: true,
    ...(dialect.takesStreamOptions && { stream_options: { include_usage: true } }),
    ...(dialect.takesSchema &&
      schema !== undefined && {
        response_format: {
          type: "json_schema",
          json_schema: { name: schema.name, strict: true, schema: schema.schema },
        },
      }),
  });
}

/** The headers of a request to `url`. @throws LlmError `refused` for a key that no header can hold */
export function headersOf({ apiKey }: LlmEndpoint, url: URL): Record<string, string> {
  if (apiKey !== null && !/^[\x20-\x7e]*$/.test(apiKey)) {
    throw new LlmError("refused", "the endpoint's key holds characters that a header cannot hold");
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
