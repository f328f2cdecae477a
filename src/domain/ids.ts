// Identifiers: public ids (`mem_…`) that sort by creation time, and the numeric keys inside the stores.

declare const brand: unique symbol;
type Branded<T, Name extends string> = T & { readonly [brand]: Name };

/** Public id of a memory: `mem_` and 26 characters. */
export type MemoryId = Branded<string, "MemoryId">;
/** Public id of a chunk: `chunk_` and 26 characters. It is computed from the key (chunk-ids.ts). */
export type ChunkId = Branded<string, "ChunkId">;
/** Public id of an entity: `ent_` and 26 characters. It is computed from its hash (chunk-ids.ts). */
export type EntityId = Branded<string, "EntityId">;
/** Public id of a project: `prj_` and 26 characters. */
export type ProjectId = Branded<string, "ProjectId">;
/** Public id of an API key: `key_` and 26 characters. */
export type KeyId = Branded<string, "KeyId">;
/** Public id of a chat: `chat_` and 26 characters. */
export type ChatId = Branded<string, "ChatId">;
/** Public id of a chat message: `msg_` and 26 characters. */
export type MessageId = Branded<string, "MessageId">;
/** Public id of a user's event: `evt_` and 26 characters. */
export type EventId = Branded<string, "EventId">;
/** Public id of a webhook: `wh_` and 26 characters. */
export type WebhookId = Branded<string, "WebhookId">;
/** Public id of a deletion: `job_` and 26 characters. */
export type DeletionId = Branded<string, "DeletionId">;
/** Public id of a case: `case_` and 26 characters. */
export type CaseId = Branded<string, "CaseId">;
/** Public id of a run of the cases: `run_` and 26 characters. */
export type CaseRunId = Branded<string, "CaseRunId">;
/** Public id of a webhook delivery: `dlv_` and 26 characters. */
export type DeliveryId = Branded<string, "DeliveryId">;

/** Key of a memory inside the stores: counted up from 1, so below 2^53; never reused. */
export type MemoryKey = Branded<bigint, "MemoryKey">;
/**
 * Key of a chunk inside the stores: u64, never reused, so that the vector of a removed chunk can never be taken for
 * that of another chunk.
 */
export type ChunkKey = Branded<bigint, "ChunkKey">;
/** Key of a user inside the stores: u64. */
export type UserKey = Branded<bigint, "UserKey">;

/** Prefixes of public ids, by what they name. */
export const ID_PREFIXES = {
  memory: "mem",
  chunk: "chunk",
  entity: "ent",
  project: "prj",
  key: "key",
  chat: "chat",
  message: "msg",
  event: "evt",
  webhook: "wh",
  delivery: "dlv",
  job: "job",
  case: "case",
  run: "run",
} as const;
/** Prefix of a public id. */
export type IdPrefix = (typeof ID_PREFIXES)[keyof typeof ID_PREFIXES];

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/**
 * Creates a UUIDv7 (RFC 9562) in Crockford's base 32: lower case, 26 characters. Later ids sort after earlier ones.
 * @param nowMs Unix time in milliseconds
 * @param random at least 10 random bytes
 */
export function timeOrderedId(nowMs: number, random: Uint8Array): string {
  const bytes = new Uint8Array(16);
  let time = Math.floor(nowMs);
  for (let at = 5; at >= 0; at--) {
    bytes[at] = time % 256;
    time = Math.floor(time / 256);
  }
  bytes.set(random.subarray(0, 10), 6);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70; // version 7
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80; // variant 10
  return base32(bytes);
}

/** 16 bytes in Crockford's base 32: lower case, 26 characters. Larger numbers sort after smaller ones. */
export function base32(bytes: Uint8Array): string {
  // 26 characters encode 130 bits; the two extra bits are leading zeros
  let text = "";
  let bits = 0;
  let held = 2;
  for (const byte of bytes) {
    bits = ((bits << 8) | byte) & 0xfff;
    held += 8;
    while (held >= 5) {
      held -= 5;
      text += ALPHABET.charAt((bits >> held) & 31);
    }
  }
  return text;
}

/** The 16 bytes of 26 characters of `base32`. */
export function fromBase32(text: string): Uint8Array {
  let value = 0n;
  for (const character of text) value = (value << 5n) | BigInt(ALPHABET.indexOf(character));
  const bytes = new Uint8Array(16);
  for (let at = 15; at >= 0; at--) {
    bytes[at] = Number(value & 0xffn);
    value >>= 8n;
  }
  return bytes;
}

/** Patterns of ids, by prefix. They are compiled once, because most requests check ids. */
const PATTERNS = new Map<string, RegExp>();

/** Whether `text` is a well-formed public id with this prefix. */
export function isId(prefix: IdPrefix, text: string): boolean {
  let pattern = PATTERNS.get(prefix);
  if (pattern === undefined) {
    pattern = new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{26}$`);
    PATTERNS.set(prefix, pattern);
  }
  return pattern.test(text);
}
