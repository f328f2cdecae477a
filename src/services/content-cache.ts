// Contents that were read lately, so that reading them again asks no store. Holds whatever was handed to it; whether a
// memory may be read is decided by its row, before this is asked.

import type { MemoryKey } from "../domain/ids.ts";
import type { Memory } from "../domain/memory.ts";

/** One content never takes more than this share: a few large ones would drive out all others. */
const SHARE_MAX = 1 / 8;
/** Bytes of a UTF-16 unit: what a string holds at most, whatever is in it. */
const UNIT_BYTES = 2;

type Identity = Pick<Memory, "key" | "version">;

/** Contents by memory and version; the least recently read go first. */
export class ContentCache {
  // in the order of the last reads: a Map keeps that of insertion
  readonly #contents = new Map<MemoryKey, { readonly version: number; readonly content: string }>();
  readonly #bytesMax: number;
  #bytes = 0;

  /** @param bytesMax what all contents take in memory together. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** What all contents take in memory together. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The content of exactly this version; null when it is not held. */
  get({ key, version }: Identity): string | null {
    const held = this.#contents.get(key);
    if (held === undefined || held.version !== version) return null;
    this.#contents.delete(key);
    this.#contents.set(key, held);
    return held.content;
  }

  /** Holds the content of a version in place of any other version's. */
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

  /** Lets go of what a memory has here. */
  forget(key: MemoryKey): void {
    const held = this.#contents.get(key);
    if (held === undefined) return;
    this.#contents.delete(key);
    this.#bytes -= sizeOf(held.content);
  }
}

function sizeOf(content: string): number {
  return content.length * UNIT_BYTES;
}
