// What identifies a language model endpoint in a map.

import type { LlmEndpoint } from "../../domain/language-model.ts";

/** The same text for the same provider, address and model, whatever the API key. */
export function endpointKey({ provider, baseUrl, model }: LlmEndpoint): string {
  return JSON.stringify([provider, baseUrl, model]);
}
