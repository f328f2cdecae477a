// Smooths the vectors of a conversation's turns with those of the turns around them, because a turn depends on its
// context.

import type { Chunk } from "../domain/chunk.ts";

/**
 * Number of neighbours on each side, and the weight of each. nDCG@10 of mode fast on LoCoMo, by neighbours and weight:
 * no neighbour 0.412; one with weight 0.2: 0.426; two with 0.2 and 0.1: 0.446; two with 0.2: 0.454; two with 0.3:
 * 0.451; three with 0.2: 0.425 (22 Nov 2026; chosen on three conversations, and the other seven agree). The turn two
 * places before often has the same speaker.
 */
const REACH = 2;
const NEIGHBOUR_WEIGHT = 0.2;

/**
 * Smooths vectors within sessions: e_i of a turn becomes unit(e_i + 0.2 (e_{i-2} + e_{i-1} + e_{i+1} + e_{i+2})), where
 * only chunks of the same session count as neighbours. Vectors of other chunks do not change. Works in place while
 * vectors arrive; the result does not depend on how many arrive at once. Takes linear time, and the space of two more
 * vectors.
 */
export class SessionSmoother {
  readonly #vectors: Float32Array;
  readonly #sessions: readonly (number | null)[];
  readonly #dimensions: number;
  /**
   * Copies of the last REACH vectors as they were before smoothing, by position modulo REACH. Their rows in `vectors`
   * are overwritten.
   */
  readonly #before: Float32Array;
  #next = 0;

  /** @param vectors `[chunks.length, dimensions]`; each has unit length before `advance` covers it */
  constructor(vectors: Float32Array, chunks: readonly Pick<Chunk, "turn">[], dimensions: number) {
    this.#vectors = vectors;
    this.#sessions = chunks.map(({ turn }) => turn?.session ?? null);
    this.#dimensions = dimensions;
    this.#before = new Float32Array(REACH * dimensions);
  }

  /**
   * Smooths each vector whose neighbours are all among the first `count` vectors, which are computed. If `count` is the
   * number of all vectors, the rest is smoothed.
   */
  advance(count: number): void {
    for (; this.#next < count; this.#next++) {
      const session = this.#sessions[this.#next] ?? null;
      if (session === null) continue;
      const lastNeighbour = this.#next + REACH;
      for (let after = count; after <= lastNeighbour; after++) if (this.#sessions[after] === session) return;
      this.#smooth(this.#next, session);
    }
  }

  #smooth(at: number, session: number): void {
    const row = this.#row(this.#vectors, at);
    const own = row.slice();
    for (let distance = 1; distance <= REACH; distance++) {
      if (this.#sessions[at - distance] === session) addTo(row, this.#row(this.#before, (at - distance) % REACH));
      if (this.#sessions[at + distance] === session) addTo(row, this.#row(this.#vectors, at + distance));
    }
    let squares = 0;
    for (const value of row) squares += value * value;
    // The neighbours together weigh 0.8 at most, so they cannot cancel the vector: its length is at least 0.2.
    const length = Math.sqrt(squares);
    for (let axis = 0; axis < row.length; axis++) row[axis] = (row[axis] ?? 0) / length;
    this.#before.set(own, (at % REACH) * this.#dimensions);
  }

  #row(rows: Float32Array, at: number): Float32Array {
    return rows.subarray(at * this.#dimensions, (at + 1) * this.#dimensions);
  }
}

function addTo(row: Float32Array, neighbour: Float32Array): void {
  for (let axis = 0; axis < row.length; axis++) {
    row[axis] = (row[axis] ?? 0) + NEIGHBOUR_WEIGHT * (neighbour[axis] ?? 0);
  }
}
