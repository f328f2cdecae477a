// Scores how well sentences answer a question, with the reranker. There is no score if it does not support the
// question's language, is not available, or takes too long; sentence selection then uses words alone.

import { isOutage } from "../domain/fault.ts";
import type { Reranker } from "../ports/models.ts";
import { isLanguageSupported } from "../retrieval/coverage.ts";
import { squashLogit } from "../retrieval/rerank.ts";

/**
 * Returns the relevance of each sentence for the question, -1..1, in the order of the sentences; null if no model could
 * score them.
 * @throws the abort reason of `signal`
 */
export type ScoreSentences = (
  question: string,
  sentences: readonly string[],
  signal: AbortSignal,
) => Promise<readonly number[] | null>;

/** Dependencies of `rerankerSentenceScorer`. */
export interface SentenceScorerDependencies {
  /** null if there is none. */
  readonly reranker: Reranker | null;
  /** The language of a question, BCP 47; `und` when unsure. */
  readonly languageOf: (question: string) => string | Promise<string>;
  /** Deadline in milliseconds, after which there is no score. */
  readonly rerankDeadlineMs: number;
}

/** Scores (question, sentence) pairs with the reranker. */
export function rerankerSentenceScorer({
  reranker,
  languageOf,
  rerankDeadlineMs: deadlineMs,
}: SentenceScorerDependencies): ScoreSentences {
  return async (question, sentences, signal) => {
    signal.throwIfAborted();
    if (reranker === null) return null;
    if (!isLanguageSupported(question, await languageOf(question), reranker.languages)) return null;
    // An answer whose sentences are selected by words alone is better than no answer.
    try {
      const logits = await reranker.score(question, sentences, { signal, deadlineMs });
      return logits.some(Number.isNaN) ? null : Array.from(logits, squashLogit);
    } catch (error) {
      signal.throwIfAborted();
      if (isOutage(error)) return null;
      throw error;
    }
  };
}
