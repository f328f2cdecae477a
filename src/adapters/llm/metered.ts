// Counts the calls of language models for operators: how they ended, and the tokens that they took.

import type { Metrics } from "../../kit/metrics.ts";
import { type LanguageModel, LlmError, type LlmUsage } from "../../ports/language-model.ts";

/** The same model, with each call counted. @throws Error when `metrics` counts such calls already */
export function metered(model: LanguageModel, metrics: Metrics): LanguageModel {
  const calls = metrics.counter("mneme_llm_calls_total", "Calls of language models, by how they ended.", ["outcome"]);
  const tokens = metrics.counter("mneme_llm_tokens_total", "Tokens that language models took.", ["kind"]);
  const count = (outcome: string, usage: LlmUsage) => {
    calls(outcome).add();
    tokens("prompt").add(usage.prompt);
    tokens("completion").add(usage.completion);
  };
  return {
    async complete(request, signal) {
      try {
        const answer = await model.complete(request, signal);
        count("answered", answer.usage);
        return answer;
      } catch (error) {
        if (error instanceof LlmError) count(error.reason, error.usage);
        throw error;
      }
    },
  };
}
