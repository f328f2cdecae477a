// Source of random bytes for ids and keys. Tests pass their own.

import { type IdPrefix, timeOrderedId } from "../../../domain/ids.ts";

/** Makes `count` random bytes. */
export type RandomBytes = (count: number) => Uint8Array;

/** Random bytes of a UUIDv7, beside its time. */
const ID_RANDOM_BYTES = 10;

/** A new public id: the prefix and 26 characters. Later ids sort after earlier ones. */
export function newId(prefix: IdPrefix, nowMs: number, random: RandomBytes): string {
  return `${prefix}_${timeOrderedId(nowMs, random(ID_RANDOM_BYTES))}`;
}

/** The machine's cryptographic random numbers. */
export const systemRandom: RandomBytes = (count) => crypto.getRandomValues(new Uint8Array(count));
