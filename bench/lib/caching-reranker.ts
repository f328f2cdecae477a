// A reranker that caches logits, because the compared variants of a search mostly score the same (query, passage)
// pairs.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Reranker, ScoreOptions } from "../../src/ports/models.ts";

/** Caches the logit of each (query, passage) pair, optionally in a file for later runs. */
export class CachingReranker implements Reranker {
  readonly languages: readonly string[];
  readonly #inner: Reranker;
  readonly #path: string | null;
  readonly #known: Map<string, number>;

  /** @param path cache file of one model, which may not exist yet; null for no file */
  constructor(inner: Reranker, path: string | null) {
    this.languages = inner.languages;
    this.#inner = inner;
    this.#path = path;
    this.#known = new Map(path !== null && existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : []);
  }

  save(): void {
    if (this.#path !== null) writeFileSync(this.#path, JSON.stringify([...this.#known]));
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
