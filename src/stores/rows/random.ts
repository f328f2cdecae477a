// Source of random bytes for ids and keys. Tests use another source.

import { type IdPrefix, timeOrderedId } from "../../domain/ids.ts";

/** Makes `count` random bytes. */
export type RandomBytes = (count: number) => Uint8Array;

/** Number of random bytes in a UUIDv7; the other bytes are its time. */
const ID_RANDOM_BYTES = 10;

/** A new public id: the prefix and 26 characters. Later ids sort after earlier ones. */
export function newId(prefix: IdPrefix, nowMs: number, random: RandomBytes): string {
  return `${prefix}_${timeOrderedId(nowMs, random(ID_RANDOM_BYTES))}`;
}

/** The cryptographic random number generator of the operating system. */
export const systemRandom: RandomBytes = (count) => crypto.getRandomValues(new Uint8Array(count));
