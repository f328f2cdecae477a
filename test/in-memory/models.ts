// Embedders and rerankers without models: one of each. The embedder counts hashed words; the reranker scores by the
// share of the query's words that occur in the passage. One call runs at a time; the others wait in a bounded queue.

import { Fault } from "../../src/domain/fault.ts";
import type {
  Embedder,
  Embedders,
  EmbedOptions,
  LocalModels,
  Priority,
  Reranker,
  Rerankers,
  ScoreOptions,
} from "../../src/ports/models.ts";
import { ENGLISH_TUNING, embeddersOf, localModelsOf } from "../support/shipped-models.ts";
import { type Delay, Delays } from "./delays.ts";

/** Options of `WordModels`. */
export interface WordModelOptions {
  readonly id?: string;
  readonly dimensions?: number;
  /** Maximum number of words read from a text. */
  readonly tokensMax?: number;
  /** Maximum number of calls that run or wait. */
  readonly callsMax?: number;
  /** Default: random delays. */
  readonly delays?: Delay;
}

interface Waiting {
  readonly priority: Priority;
  begin(): void;
}

const WORDS = /[\p{L}\p{N}]+/gu;

/** Both models in one object, like the lanes. A text has one special token. */
export class WordModels implements Embedder, Reranker {
  readonly tuning = ENGLISH_TUNING;
  readonly rerankers: Rerankers = { for: ({ id }) => (id === this.id ? this : null) };
  readonly local: LocalModels;
  readonly dimensions: number;
  readonly id: string;
  readonly fingerprint: string;
  readonly tokensMax: number;
  readonly languages = ["en"];
  readonly embedders: Embedders;
  readonly #callsMax: number;
  readonly #delays: Delay;
  #waiting: Waiting[] = [];
  #calls = 0;
  #isBusy = false;

  constructor({
    id = "hashed-words",
    dimensions = 64,
    tokensMax = 256,
    callsMax = 256,
    delays = new Delays(),
  }: WordModelOptions = {}) {
    this.id = id;
    this.fingerprint = `${id}/1`;
    this.dimensions = dimensions;
    this.tokensMax = tokensMax;
    this.#callsMax = callsMax;
    this.#delays = delays;
    this.embedders = embeddersOf(this);
    this.local = localModelsOf(this);
  }

  embed(texts: readonly string[], { priority, signal, onBegin }: EmbedOptions): Promise<Float32Array> {
    return this.#inTurn(priority, signal, onBegin, () => {
      const vectors = new Float32Array(texts.length * this.dimensions);
      for (const [at, text] of texts.entries()) vectors.set(this.#vectorOf(text), at * this.dimensions);
      return vectors;
    });
  }

  countTokens(texts: readonly string[], { priority, signal, onBegin }: EmbedOptions): Promise<readonly number[]> {
    const count = (text: string) => 1 + (text.toLowerCase().match(WORDS) ?? []).length;
    return this.#inTurn(priority, signal, onBegin, () => texts.map(count));
  }

  score(query: string, passages: readonly string[], options: ScoreOptions = {}): Promise<Float32Array> {
    const { signal, onBegin, deadlineMs = Number.POSITIVE_INFINITY } = options;
    const startedAt = performance.now();
    return this.#inTurn("query", signal, onBegin, () => {
      if (performance.now() - startedAt >= deadlineMs) return new Float32Array(passages.length).fill(Number.NaN);
      const asked = this.#words(query);
      return Float32Array.from(passages, (passage) => {
        const words = new Set(this.#words(passage));
        const share = asked.filter((word) => words.has(word)).length / Math.max(1, asked.length);
        return 12 * share - 6;
      });
    });
  }

  async #inTurn<T>(
    priority: Priority,
    signal: AbortSignal | undefined,
    onBegin: (() => void) | undefined,
    work: () => T,
  ): Promise<T> {
    signal?.throwIfAborted();
    if (this.#calls >= this.#callsMax) {
      throw new Fault("overloaded", "Too many calls wait for the models.", { retryAfterSeconds: 2 });
    }
    this.#calls += 1;
    try {
      await this.#leaveQueue(priority, signal);
      try {
        onBegin?.();
        await this.#delays.next(`${this.id}.${priority}`, "begin");
        signal?.throwIfAborted();
        return work();
      } finally {
        this.#beginNext();
      }
    } finally {
      this.#calls -= 1;
    }
  }

  #leaveQueue(priority: Priority, signal: AbortSignal | undefined): Promise<void> {
    if (!this.#isBusy) {
      this.#isBusy = true;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const waiting = { priority, begin: resolve };
      this.#waiting.push(waiting);
      signal?.addEventListener("abort", () => {
        this.#waiting = this.#waiting.filter((one) => one !== waiting);
        reject(signal.reason);
      });
    });
  }

  #beginNext(): void {
    const next = this.#waiting.find(({ priority }) => priority === "query") ?? this.#waiting[0];
    this.#waiting = this.#waiting.filter((one) => one !== next);
    this.#isBusy = next !== undefined;
    next?.begin();
  }

  #words(text: string): readonly string[] {
    return (text.toLowerCase().match(WORDS) ?? []).slice(0, this.tokensMax - 1);
  }

  /**
   * Counts the hashed words of a text and scales the counts to unit length. The first component is never zero, so that
   * a text without words has a vector of unit length, too.
   */
  #vectorOf(text: string): Float32Array {
    const vector = new Float32Array(this.dimensions);
    vector[0] = 0.1;
    for (const word of this.#words(text)) {
      const place = 1 + Number(Bun.hash.wyhash(word) % BigInt(this.dimensions - 1));
      vector[place] = (vector[place] ?? 0) + 1;
    }
    const length = Math.hypot(...vector);
    return vector.map((component) => component / length);
  }
}
