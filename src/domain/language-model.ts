// Which language model is called for a project: its own, or the operator's. How it is called is ports/language-model.ts.

import type { LlmSettings } from "./project.ts";

/** A language model and where it answers. */
export interface LlmEndpoint {
  /** http or https; what an OpenAI-compatible service calls its base, such as `https://api.example.com/v1`. */
  readonly baseUrl: string;
  readonly model: string;
  /** null: none is sent. */
  readonly apiKey: string | null;
  /** Whether an operator or admin chose the address: then it may be any; otherwise it must be public whenever it is called. */
  readonly isTrusted: boolean;
}

/** The language model of the operator's configuration; null where it names none. */
export interface OperatorLlm {
  readonly baseUrl: string | null;
  readonly model: string | null;
  readonly apiKey: string | null;
}

/**
 * The language model of a project: each of its settings goes before the operator's. The operator's key never goes to an address that
 * a project chose. null: no address or no model is set.
 */
export function endpointOf(own: LlmSettings, operator: OperatorLlm): LlmEndpoint | null {
  const baseUrl = own.base_url ?? operator.baseUrl;
  const model = own.model ?? operator.model;
  if (baseUrl === null || model === null) return null;
  const isOperators = own.base_url === null;
  return {
    baseUrl,
    model,
    apiKey: isOperators ? (own.api_key ?? operator.apiKey) : own.api_key,
    isTrusted: isOperators || own.is_address_trusted,
  };
}

/**
 * Tokens of a text, estimated: four bytes of UTF-8 each. That is the usual "four characters" for English, and for scripts that take
 * three bytes a character (Chinese, Hindi) the .75 tokens a character that four characters would miss.
 */
export function estimatedTokens(text: string): number {
  return estimatedTokensOf(Buffer.byteLength(text, "utf8"));
}

/** The same of a text that is so many bytes of UTF-8. */
export function estimatedTokensOf(bytes: number): number {
  return Math.ceil(bytes / 4);
}
