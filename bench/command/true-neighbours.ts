// The true nearest vectors of questions, collected while the vectors are drawn part by part.

import { addon } from "../../src/adapters/native/addon.ts";

/** A vector and its cosine similarity to a question. */
export interface Neighbour {
  readonly memory: number;
  readonly score: number;
}

/** The nearest vectors of each question, best first. */
export type Truth = readonly (readonly Neighbour[])[];

/** Collects the `limit` nearest vectors of each of several questions. */
export class TrueNeighbours {
  readonly #queries: Float32Array;
  readonly #dimensions: number;
  readonly #limit: number;
  #best: Truth;

  /** @param queries row-major @param known the nearest vectors of earlier parts */
  constructor(queries: Float32Array, dimensions: number, limit: number, known?: Truth) {
    this.#queries = queries;
    this.#dimensions = dimensions;
    this.#limit = limit;
    this.#best = known ?? Array.from({ length: queries.length / dimensions }, () => []);
  }

  /** The nearest vectors so far. */
  get best(): Truth {
    return this.#best;
  }

  /** Compares vectors with all questions. @param vectors row-major @param memories number of each vector */
  async add(vectors: Float32Array, memories: readonly number[]): Promise<void> {
    const limit = Math.min(this.#limit, memories.length);
    const { rows, scores } = await addon().nearestExactly(this.#queries, vectors, this.#dimensions, limit);
    this.#best = this.#best.map((best, query) => {
      const found = Array.from({ length: limit }, (_, at): Neighbour => {
        const place = query * limit + at;
        return { memory: memories[rows[place] ?? 0] ?? 0, score: scores[place] ?? 0 };
      });
      return [...best, ...found].sort((a, b) => b.score - a.score).slice(0, this.#limit);
    });
  }
}
