// A cache of recently read contents, so that reading them again needs no store. It does not check access: callers read
// the memory's row first, which decides.

import type { MemoryKey } from "../domain/ids.ts";
import type { Memory } from "../domain/memory.ts";

/** Maximum share of the cache for one content. Without it, a few large contents would evict all others. */
const SHARE_MAX = 1 / 8;
/** Number of bytes assumed per UTF-16 code unit of a string, which is the maximum that the runtime needs. */
const UNIT_BYTES = 2;

type Identity = Pick<Memory, "key" | "version">;

interface Entry {
  readonly version: number;
  readonly content: string;
  /** Whether it was read since it was stored or last passed over by an eviction. */
  wasRead: boolean;
}

/**
 * A cache of contents by memory and version. When it is full, the oldest contents are evicted; those that were read
 * meanwhile count as new once ("second chance"). So a read only sets a flag, which costs less than moving an entry.
 */
export class ContentCache {
  /** In order of age: a Map iterates in order of insertion. */
  readonly #contents = new Map<MemoryKey, Entry>();
  readonly #bytesMax: number;
  #bytes = 0;

  /** @param bytesMax maximum size of all contents together */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Size of all contents together. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The content of exactly this version of the memory; null if it is not cached. */
  get({ key, version }: Identity): string | null {
    const cached = this.#contents.get(key);
    if (cached === undefined || cached.version !== version) return null;
    cached.wasRead = true;
    return cached.content;
  }

  /** Stores the content of a version and drops other versions of the memory. */
  put({ key, version }: Identity, content: string): void {
    this.forget(key);
    if (sizeOf(content) > this.#bytesMax * SHARE_MAX) return;
    this.#contents.set(key, { version, content, wasRead: false });
    this.#bytes += sizeOf(content);
    this.#evict();
  }

  /** Drops contents until the rest is small enough. */
  #evict(): void {
    // Entries that get a second chance are moved to the end, where this iteration meets them again without the flag.
    for (const [key, entry] of this.#contents) {
      if (this.#bytes <= this.#bytesMax) break;
      if (entry.wasRead) {
        entry.wasRead = false;
        this.#contents.delete(key);
        this.#contents.set(key, entry);
      } else this.forget(key);
    }
  }

  /** Drops the content of a memory. */
  forget(key: MemoryKey): void {
    const cached = this.#contents.get(key);
    if (cached === undefined) return;
    this.#contents.delete(key);
    this.#bytes -= sizeOf(cached.content);
  }
}

function sizeOf(content: string): number {
  return content.length * UNIT_BYTES;
}
