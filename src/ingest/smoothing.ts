// What a turn means beside what it says: its vector leans towards those of the turns around it.

import type { Chunk } from "../domain/chunk.ts";

/**
 * How far a turn reaches to each side, and the weight of each turn there. On LoCoMo, nDCG@10 of fast: without .412, one
 * turn by .2 .426, two by .2 and .1 .446, two by .2 .454, two by .3 .451, three by .2 .425 (22 Nov 2026; the three
 * conversations that it was chosen on agree with the other seven). The turn before the last is often the same
 * speaker's.
 */
const REACH = 2;
const NEIGHBOUR_WEIGHT = 0.2;

/**
 * Smooths vectors within sessions: a turn's e_i becomes unit(e_i + .2 (e_{i-2} + e_{i-1} + e_{i+1} + e_{i+2})), its
 * neighbours being the chunks of the same session beside it. Vectors of other chunks stay. Works in place while the
 * vectors come in, so that slices make no difference and none of them waits; linear, two vectors of memory beside them.
 */
export class SessionSmoother {
  readonly #vectors: Float32Array;
  readonly #sessions: readonly (number | null)[];
  readonly #dimensions: number;
  /** The vectors before the next one as they came in, by position modulo REACH: their places hold the smoothed ones. */
  readonly #before: Float32Array;
  #next = 0;

  /** @param vectors `[chunks.length, dimensions]`, of unit length as far as they came in. */
  constructor(vectors: Float32Array, chunks: readonly Pick<Chunk, "turn">[], dimensions: number) {
    this.#vectors = vectors;
    this.#sessions = chunks.map(({ turn }) => turn?.session ?? null);
    this.#dimensions = dimensions;
    this.#before = new Float32Array(REACH * dimensions);
  }

  /** Tells that the first `count` vectors came in; after the last call, with all of them, all are smoothed. */
  advance(count: number): void {
    for (; this.#next < count; this.#next++) {
      const session = this.#sessions[this.#next] ?? null;
      if (session === null) continue;
      const waitsFor = this.#next + REACH;
      for (let after = count; after <= waitsFor; after++) if (this.#sessions[after] === session) return;
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
    // Neighbours weigh less than a unit vector in all, so that they cannot cancel it out: the length is .2 at least.
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
