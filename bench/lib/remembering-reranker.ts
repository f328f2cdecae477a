// A reranker that is asked about no pair twice: ways of searching that are compared ask the same of most.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Reranker } from "../../src/ports/models.ts";

/** What a pair got is remembered; from run to run too, where there is a file for it. */
export class RememberingReranker implements Reranker {
  readonly #inner: Reranker;
  readonly #path: string | null;
  readonly #known: Map<string, number>;

  /** @param path of the file, which need not be there; it belongs to one model. null: nothing is kept. */
  constructor(inner: Reranker, path: string | null) {
    this.#inner = inner;
    this.#path = path;
    this.#known = new Map(path !== null && existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : []);
  }

  save(): void {
    if (this.#path !== null) writeFileSync(this.#path, JSON.stringify([...this.#known]));
  }

  async score(query: string, passages: readonly string[], signal?: AbortSignal): Promise<Float32Array> {
    const nameOf = (passage: string) => `${query}\n${passage}`;
    const unknown = passages.filter((passage) => !this.#known.has(nameOf(passage)));
    const scores = unknown.length === 0 ? [] : await this.#inner.score(query, unknown, signal);
    for (const [at, passage] of unknown.entries()) this.#known.set(nameOf(passage), scores[at] ?? 0);
    return Float32Array.from(passages, (passage) => this.#known.get(nameOf(passage)) ?? 0);
  }
}
