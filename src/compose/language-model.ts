// Connects to language models. models.ts starts the models that run on this machine; it is another file, so that
// commands can call language models without loading the native libraries.

import { countCalls } from "../adapters/llm/call-metrics.ts";
import type { LlmTimeouts } from "../adapters/llm/call-timer.ts";
import { createLanguageModel } from "../adapters/llm/client.ts";
import { limitConcurrency } from "../adapters/llm/concurrency-limit.ts";
import { withFallbacks } from "../adapters/llm/fallbacks.ts";
import type { Config } from "../config.ts";
import { type OperatorLlm, PROVIDER_ADDRESSES } from "../domain/language-model.ts";
import type { Clock } from "../kit/clock.ts";
import type { Metrics } from "../metrics.ts";
import type { LanguageModel } from "../ports/language-model.ts";

/**
 * Time limit in milliseconds for connecting to a language model. An endpoint that takes longer is down or overloaded.
 */
const LLM_CONNECT_MS = 5_000;

/** Creates the client for language models, with fallbacks, metrics and the limit of concurrent calls. */
export function connectLanguageModel(config: Config, metrics: Metrics, clock: Clock): LanguageModel {
  const { webhookAllow: allow, llmContextTokens: contextTokens, llmConcurrency: concurrency } = config;
  const client = createLanguageModel({ allow, timeouts: llmTimeouts(config), contextTokens, clock });
  return limitConcurrency(withFallbacks(countCalls(client, metrics), clock), { concurrency, metrics });
}

function llmTimeouts({ llmFirstByteTimeoutMs, llmIdleTimeoutMs, llmTimeoutMs }: Config): LlmTimeouts {
  return {
    connectMs: LLM_CONNECT_MS,
    firstByteMs: llmFirstByteTimeoutMs,
    idleMs: llmIdleTimeoutMs,
    totalMs: llmTimeoutMs,
  };
}

/** The language models that the operator has configured. */
export function operatorLlm({
  llmProvider: provider,
  llmApiKey: apiKey,
  ...config
}: Pick<
  Config,
  "llmProvider" | "llmApiKey" | "llmBaseUrl" | "llmModel" | "llmFallbacks" | "llmMonthlyTokens"
>): OperatorLlm {
  return {
    provider,
    baseUrl: config.llmBaseUrl ?? (config.llmModel === null ? null : (PROVIDER_ADDRESSES[provider] ?? null)),
    model: config.llmModel,
    apiKey,
    fallbacks: config.llmFallbacks,
    monthlyTokensMax: config.llmMonthlyTokens,
  };
}
