// A cache of recently read contents, so that reading them again needs no store. It does not check access: callers read
// the memory's row first, which decides.

import type { MemoryKey } from "../domain/ids.ts";
import type { Memory } from "../domain/memory.ts";

/** Largest share of the cache for one content. Without it, a few large contents would evict all others. */
const SHARE_MAX = 1 / 8;
/** Bytes per UTF-16 unit: the upper bound for any string. */
const UNIT_BYTES = 2;

type Identity = Pick<Memory, "key" | "version">;

/** Contents by memory and version, with least-recently-used eviction. */
export class ContentCache {
  // a Map keeps the order of insertion; a read inserts again, so the first is the least recently read
  readonly #contents = new Map<MemoryKey, { readonly version: number; readonly content: string }>();
  readonly #bytesMax: number;
  #bytes = 0;

  /** @param bytesMax limit for all contents together */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes of all contents together. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The content of exactly this version; null if it is not cached. */
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
