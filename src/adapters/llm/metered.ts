// Counts the calls of language models for operators: how they ended, the tokens that they took, and how soon they spoke.

import type { Metrics } from "../../kit/metrics.ts";
import { type LanguageModel, LlmError, type LlmUsage } from "../../ports/language-model.ts";
import { languageModelOf } from "./fragments.ts";

/** Seconds to the first text: a model on a graphics card takes tenths, one that is to be loaded first many. */
const FIRST_TEXT_BOUNDS_S = [0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64];

/** The same model, with each call counted. @throws Error when `metrics` counts such calls already */
export function metered(model: LanguageModel, metrics: Metrics): LanguageModel {
  const calls = metrics.counter("mneme_llm_calls_total", "Calls of language models, by how they ended.", ["outcome"]);
  const tokens = metrics.counter("mneme_llm_tokens_total", "Tokens that language models took.", ["kind"]);
  const firstText = metrics.histogram(
    "mneme_llm_first_text_seconds",
    "From asking a language model to the first text of its answer.",
    FIRST_TEXT_BOUNDS_S,
    ["purpose"],
  );
  const count = (outcome: string, usage: LlmUsage) => {
    calls(outcome).add();
    tokens("prompt").add(usage.prompt);
    tokens("completion").add(usage.completion);
  };
  return languageModelOf(async function* (request, signal) {
    const startedAt = performance.now();
    const fragments = model.stream(request, signal);
    let hasSpoken = false;
    let isCounted = false;
    try {
      for (;;) {
        const { value: fragment, done } = await fragments.next();
        if (done) return;
        if (fragment.type === "text" && !hasSpoken) {
          hasSpoken = true;
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
      // whoever returned has aborted `signal` by that: one more fragment says what the call took
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
