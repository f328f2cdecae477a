// Metrics of language model calls: outcome, tokens, and time to the first text.

import type { Metrics } from "../../metrics.ts";
import { type LanguageModel, LlmError, type LlmUsage } from "../../ports/language-model.ts";
import { languageModelFromStream } from "./from-stream.ts";

/**
 * Bounds of the histogram of the time to the first text, in seconds: tenths for a model on a graphics card, many
 * seconds for a model that must be loaded first.
 */
const FIRST_TEXT_BOUNDS_S = [0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64];

/** Wraps `model` so that each call is counted. @throws Error if `metrics` has these series already */
export function countCalls(model: LanguageModel, metrics: Metrics): LanguageModel {
  const calls = metrics.counter("mneme_llm_calls_total", "Language model calls by outcome.", ["outcome"]);
  const tokens = metrics.counter("mneme_llm_tokens_total", "Tokens used by language model calls.", ["kind"]);
  const firstText = metrics.histogram(
    "mneme_llm_first_text_seconds",
    "Time from calling a language model to the first text of its answer.",
    FIRST_TEXT_BOUNDS_S,
    ["purpose"],
  );
  const count = (outcome: string, usage: LlmUsage) => {
    calls(outcome).add();
    tokens("prompt").add(usage.prompt);
    tokens("completion").add(usage.completion);
  };
  return languageModelFromStream(async function* (request, signal) {
    const startedAt = performance.now();
    const fragments = model.stream(request, signal);
    let hasText = false;
    let isCounted = false;
    try {
      for (;;) {
        const { value: fragment, done } = await fragments.next();
        if (done) return;
        if (fragment.type === "text" && !hasText) {
          hasText = true;
          firstText(request.purpose).observe((performance.now() - startedAt) / 1_000);
        }
        if (fragment.type === "usage") {
          isCounted = true;
          count("answered", fragment.usage);
        }
        yield fragment;
      }
    } catch (error) {
      if (error instanceof LlmError && !isCounted) count(error.reason, error.usage);
      isCounted = true;
      throw error;
    } finally {
      // not counted yet: the consumer stopped early by calling `return`. from-stream.ts has then aborted `signal`, so
      // the next request to the stream throws an LlmError with the tokens used so far.
      if (!isCounted) count("stopped", await usageOfStopped(fragments));
    }
  });
}

async function usageOfStopped(fragments: AsyncGenerator<unknown, void>): Promise<LlmUsage> {
  try {
    await fragments.next();
  } catch (error) {
    if (error instanceof LlmError) return error.usage;
    throw error;
  }
  return { prompt: 0, completion: 0 };
}
