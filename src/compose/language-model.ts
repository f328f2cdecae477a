// Connects to language models. compose/models.ts starts the models that run on this machine.

import { countCalls } from "../adapters/llm/call-metrics.ts";
import type { LlmTimeouts } from "../adapters/llm/call-timer.ts";
import { createLanguageModel } from "../adapters/llm/client.ts";
import { limitConcurrency } from "../adapters/llm/concurrency-limit.ts";
import type { Config } from "../config.ts";
import type { Clock } from "../kit/clock.ts";
import type { Metrics } from "../metrics.ts";
import type { LanguageModel } from "../ports/language-model.ts";

/**
 * Time limit in milliseconds for connecting to a language model. An endpoint that takes longer is down or overloaded.
 */
const LLM_CONNECT_MS = 5_000;

/** Creates the client for language models, with its metrics and its limit of concurrent calls. */
export function connectLanguageModel(config: Config, metrics: Metrics, clock: Clock): LanguageModel {
  const client = createLanguageModel({ allow: config.webhookAllow, timeouts: llmTimeouts(config), clock });
  return limitConcurrency(countCalls(client, metrics), { concurrency: config.llmConcurrency, metrics });
}

function llmTimeouts({ llmFirstByteTimeoutMs, llmIdleTimeoutMs, llmTimeoutMs }: Config): LlmTimeouts {
  return {
    connectMs: LLM_CONNECT_MS,
    firstByteMs: llmFirstByteTimeoutMs,
    idleMs: llmIdleTimeoutMs,
    totalMs: llmTimeoutMs,
  };
}

/** The endpoint that the operator has configured. */
export function operatorLlm({ llmBaseUrl, llmModel, llmApiKey }: Config) {
  return { baseUrl: llmBaseUrl, model: llmModel, apiKey: llmApiKey };
}
