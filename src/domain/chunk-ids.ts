// Public ids of chunks. They are computed from the keys, so they need not be stored, and encrypted, so that they reveal
// neither the number nor the order of the chunks of a server.

import { type Cipheriv, createCipheriv } from "node:crypto";
import { base32, type ChunkId, type ChunkKey } from "./ids.ts";

/** Number of bytes of a project's secret: a key of AES-128. */
export const PROJECT_SECRET_BYTES = 16;

/** Maps the keys of a project's chunks to public ids. Different keys have different ids, and ids never change. */
export class ChunkIds {
  /** AES-128 of single blocks: a permutation of 128-bit numbers. */
  readonly #cipher: Cipheriv;
  readonly #block = Buffer.alloc(16);

  /** @param secret `PROJECT_SECRET_BYTES` random bytes, which never change */
  constructor(secret: Uint8Array) {
    this.#cipher = createCipheriv("aes-128-ecb", secret, null);
    this.#cipher.setAutoPadding(false);
  }

  /** The public id: `chunk_` and the encrypted key in base 32. */
  of(key: ChunkKey): ChunkId {
    this.#block.writeBigUInt64BE(key, 8);
    return `chunk_${base32(this.#cipher.update(this.#block))}` as ChunkId;
  }
}
