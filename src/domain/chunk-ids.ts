// Public ids of chunks and entities: their keys or hashes, encrypted. So ids need not be stored, and reveal neither the
// number nor the order of the chunks of a server.

import { type Cipheriv, createCipheriv, createDecipheriv } from "node:crypto";
import type { EntityHash } from "./entity.ts";
import { base32, type ChunkId, type ChunkKey, type EntityId, fromBase32 } from "./ids.ts";
import type { CursorBinding } from "./page.ts";

/** Number of bytes of a project's secret: a key of AES-128. */
export const PROJECT_SECRET_BYTES = 16;

/** First 64 bits of the block that is encrypted for an entity; those for a chunk are 0. */
const OF_ENTITY = 1n;

/** Public ids of the chunks and entities of a project. Different keys have different ids, and ids never change. */
export class ChunkIds {
  /** AES-128 of single blocks: a permutation of 128-bit numbers. */
  readonly #cipher: Cipheriv;
  readonly #block = Buffer.alloc(16);
  readonly #secret: Uint8Array;

  /** @param secret `PROJECT_SECRET_BYTES` random bytes, which never change */
  constructor(secret: Uint8Array) {
    this.#secret = secret;
    this.#cipher = createCipheriv("aes-128-ecb", secret, null);
    this.#cipher.setAutoPadding(false);
  }

  /** The public id: `chunk_` and the encrypted key in base 32. */
  of(key: ChunkKey): ChunkId {
    this.#block.writeBigUInt64BE(key, 8);
    return `chunk_${base32(this.#cipher.update(this.#block))}` as ChunkId;
  }

  /** The public id of an entity: `ent_` and the encrypted hash in base 32. */
  ofEntity(hash: EntityHash): EntityId {
    const block = Buffer.alloc(16);
    block.writeBigUInt64BE(OF_ENTITY);
    block.writeBigUInt64BE(hash, 8);
    return `ent_${base32(this.#cipher.update(block))}` as EntityId;
  }

  /** The hash of the entity with an id; null if it is an id of another project. */
  entityOf(id: EntityId): EntityHash | null {
    const decipher = createDecipheriv("aes-128-ecb", this.#secret, null).setAutoPadding(false);
    const block = decipher.update(fromBase32(id.slice("ent_".length)));
    return block.readBigUInt64BE() === OF_ENTITY ? block.readBigUInt64BE(8) : null;
  }

  /** The binding of cursors to a list that is read from the project's index, such as that of its entities. */
  cursorBinding(list: string): CursorBinding {
    return { list, secret: () => this.#secret };
  }
}
