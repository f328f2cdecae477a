// A reranker that remembers logits. Searches that differ only in weights score mostly the same pairs.

import type { Reranker, ScoreOptions } from "../ports/models.ts";

/** Number of passages per call. It is small, because the queries of people wait until a running call has ended. */
const PASSAGES_AT_ONCE = 4;

/** Scores each pair of query and passage at most once. */
export class RememberingReranker implements Reranker {
  readonly languages: readonly string[];
  readonly #inner: Reranker;
  readonly #known = new Map<string, number>();

  constructor(inner: Reranker) {
    this.languages = inner.languages;
    this.#inner = inner;
  }

  // A deadline in the options is ignored, so that all passages are scored however slow the machine is.
  async score(query: string, passages: readonly string[], { signal }: ScoreOptions = {}): Promise<Float32Array> {
    const keyOf = (passage: string) => `${query}\n${passage}`;
    const unknown = passages.filter((passage) => !this.#known.has(keyOf(passage)));
    for (let first = 0; first < unknown.length; first += PASSAGES_AT_ONCE) {
      const part = unknown.slice(first, first + PASSAGES_AT_ONCE);
      const scores = await this.#inner.score(query, part, { signal });
      for (const [at, passage] of part.entries()) this.#known.set(keyOf(passage), scores[at] ?? 0);
    }
    return Float32Array.from(passages, (passage) => this.#known.get(keyOf(passage)) ?? 0);
  }
}
