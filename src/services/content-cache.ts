// A cache of recently read contents, so that reading them again needs no store. It does not check access: callers read
// the memory's row first, which decides.

import type { MemoryKey } from "../domain/ids.ts";
import type { Memory } from "../domain/memory.ts";

/** Maximum share of the cache for one content. Without it, a few large contents would evict all others. */
const SHARE_MAX = 1 / 8;
/** Number of bytes assumed per UTF-16 code unit of a string, which is the maximum that the runtime needs. */
const UNIT_BYTES = 2;

type Identity = Pick<Memory, "key" | "version">;

/** A cache of contents by memory and version. When it is full, the least recently used contents are evicted. */
export class ContentCache {
  // A Map iterates in order of insertion, and a read inserts its entry again: the first entry is the least recently
  // read one.
  readonly #contents = new Map<MemoryKey, { readonly version: number; readonly content: string }>();
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
    this.#contents.delete(key);
    this.#contents.set(key, cached);
    return cached.content;
  }

  /** Stores the content of a version and drops other versions of the memory. */
  put({ key, version }: Identity, content: string): void {
    this.forget(key);
    if (sizeOf(content) > this.#bytesMax * SHARE_MAX) return;
    this.#contents.set(key, { version, content });
    this.#bytes += sizeOf(content);
    for (const oldest of this.#contents.keys()) {
      if (this.#bytes <= this.#bytesMax) break;
      this.forget(oldest);
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
