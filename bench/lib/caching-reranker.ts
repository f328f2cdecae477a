// A reranker that caches logits, because the compared variants of a search mostly score the same (query, passage)
// pairs.

import type { Reranker, ScoreOptions } from "../../src/ports/models.ts";

/** Caches the logit of each (query, passage) pair. */
export class CachingReranker implements Reranker {
  readonly languages: readonly string[];
  readonly #inner: Reranker;
  readonly #known = new Map<string, number>();

  constructor(inner: Reranker) {
    this.languages = inner.languages;
    this.#inner = inner;
  }

  // without a deadline, so that all passages are scored however slow the machine is
  async score(query: string, passages: readonly string[], { signal }: ScoreOptions = {}): Promise<Float32Array> {
    const keyOf = (passage: string) => `${query}\n${passage}`;
    const unknown = passages.filter((passage) => !this.#known.has(keyOf(passage)));
    const scores = unknown.length === 0 ? [] : await this.#inner.score(query, unknown, { signal });
    for (const [at, passage] of unknown.entries()) this.#known.set(keyOf(passage), scores[at] ?? 0);
    return Float32Array.from(passages, (passage) => this.#known.get(keyOf(passage)) ?? 0);
  }
}
