// How things are named: public ids (`mem_…`) that sort by time, and the numeric keys that stores use inside.

declare const brand: unique symbol;
type Branded<T, Name extends string> = T & { readonly [brand]: Name };

/** Public id of a memory: `mem_` and 26 characters. */
export type MemoryId = Branded<string, "MemoryId">;
/** Public id of a chunk: `chunk_` and 26 characters. */
export type ChunkId = Branded<string, "ChunkId">;
/** Public id of a project: `prj_` and 26 characters. */
export type ProjectId = Branded<string, "ProjectId">;
/** Public id of an API key: `key_` and 26 characters. */
export type KeyId = Branded<string, "KeyId">;

/** Key of a memory inside the stores, u64, never reused. */
export type MemoryKey = Branded<bigint, "MemoryKey">;
/** Key of a chunk inside the stores, u64, never reused: a removed vector never comes back under its old key. */
export type ChunkKey = Branded<bigint, "ChunkKey">;
/** Key of a user inside the stores, u64. */
export type UserKey = Branded<bigint, "UserKey">;

/** Prefixes of public ids. */
export type IdPrefix = "mem" | "chunk" | "prj" | "key";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const ID_CHARACTERS = 26;

/**
 * A UUIDv7 (RFC 9562) in Crockford's base 32, lower case, 26 characters: ids made later sort later.
 * @param nowMs Unix time in milliseconds.
 * @param random at least 10 random bytes.
 */
export function timeOrderedId(nowMs: number, random: Uint8Array): string {
  let value = BigInt(Math.floor(nowMs)) << 80n;
  let tail = 0n;
  for (const byte of random.subarray(0, 10)) tail = (tail << 8n) | BigInt(byte);
  value |= tail;
  // version 7 in bits 76..79, variant 10 in bits 62..63
  value = (value & ~(0xfn << 76n)) | (7n << 76n);
  value = (value & ~(3n << 62n)) | (2n << 62n);
  let text = "";
  for (let position = 0; position < ID_CHARACTERS; position++) {
    text = ALPHABET.charAt(Number(value & 31n)) + text;
    value >>= 5n;
  }
  return text;
}

/**
 * The public id of a chunk, derived from its key so that it needs no column of its own: a bijection of the u64
 * written with `chunk_` in front and zeros to the left, 26 characters.
 */
export function chunkIdOf(key: ChunkKey): ChunkId {
  let value: bigint = key;
  let text = "";
  while (value > 0n) {
    text = ALPHABET.charAt(Number(value & 31n)) + text;
    value >>= 5n;
  }
  return `chunk_${text.padStart(ID_CHARACTERS, "0")}` as ChunkId;
}

/** Whether `text` has the form of a public id with this prefix. Cost: one regular expression. */
export function isId(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && /^[0-9a-hjkmnp-tv-z]{26}$/.test(text.slice(prefix.length + 1));
}
