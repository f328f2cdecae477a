// A set of keys as a sorted array. A million keys take 8 MB; a Set of bigint takes ten times as much, and seconds.

/** Distinct keys in ascending order. */
export class SortedKeys {
  readonly #keys: BigUint64Array;

  /** @param parts distinct keys in any order, in parts */
  constructor(parts: readonly BigUint64Array[]) {
    this.#keys = new BigUint64Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      this.#keys.set(part, at);
      at += part.length;
    }
    if (!isAscending(this.#keys)) this.#keys.sort();
  }

  get size(): number {
    return this.#keys.length;
  }

  /** The key at a position from 0. */
  at(position: number): bigint {
    return this.#keys[position] ?? 0n;
  }

  has(key: bigint): boolean {
    return this.positionOf(key) >= 0;
  }

  /** Position of a key; -1 if it is absent. @param guess position at which, or after which, the key probably is */
  positionOf(key: bigint, guess = 0): number {
    if (this.#keys[guess] === key) return guess;
    if (this.#keys[guess + 1] === key) return guess + 1;
    let [low, high] = [0, this.#keys.length - 1];
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const found = this.at(middle);
      if (found === key) return middle;
      if (found < key) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }
}

function isAscending(keys: BigUint64Array): boolean {
  for (let at = 1; at < keys.length; at++) if ((keys[at - 1] ?? 0n) > (keys[at] ?? 0n)) return false;
  return true;
}
