// How well does each of some sentences answer a question, by the models at hand? Says nothing where they do not read
// the question's language, are not there, or take too long: words then decide alone.

import { Fault } from "../domain/fault.ts";
import type { Embedder, Reranker } from "../ports/models.ts";
import { isLanguageSupported } from "../retrieval/coverage.ts";
import { squashLogit } from "../retrieval/rank.ts";

/**
 * How well each sentence answers the question, -1..1 in their order; null: nobody can say.
 * @throws what `signal` was aborted with.
 */
export type ScoreSentences = (
  question: string,
  sentences: readonly string[],
  signal: AbortSignal,
) => Promise<readonly number[] | null>;

/** What reading takes. */
export interface ReadingParts {
  readonly reranker: Reranker;
  readonly embedder: Pick<Embedder, "languages">;
  /** The language of a question, BCP 47; `und` when unsure. */
  readonly languageOf: (question: string) => string | Promise<string>;
  /** Beyond it words decide alone. Default: as long as a search waits for the same model. */
  readonly deadlineMs?: number;
}

/** Sentences are read when the passages were: who waited for one reading waits for another, of fewer tokens. */
const DEADLINE_MS = 2_000;

/** Scores by the reranker, which reads (question, sentence) pairs. */
export function readByReranker({
  reranker,
  embedder,
  languageOf,
  deadlineMs = DEADLINE_MS,
}: ReadingParts): ScoreSentences {
  return async (question, sentences, signal) => {
    signal.throwIfAborted();
    if (!isLanguageSupported(question, await languageOf(question), embedder.languages)) return null;
    const deadline = AbortSignal.timeout(deadlineMs);
    try {
      const logits = await reranker.score(question, sentences, AbortSignal.any([deadline, signal]));
      return Array.from(logits, squashLogit);
    } catch (error) {
      signal.throwIfAborted();
      // an answer by words alone is worth more than none
      if (deadline.aborted || isAbsence(error)) return null;
      throw error;
    }
  };
}

function isAbsence(error: unknown): boolean {
  return error instanceof Fault && (error.code === "model_unavailable" || error.code === "overloaded");
}
