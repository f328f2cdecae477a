// Chance: where ids and keys take their random bytes from, so that tests can hand in their own.

import { type IdPrefix, timeOrderedId } from "../../../domain/ids.ts";

/** Makes `count` random bytes. */
export type RandomBytes = (count: number) => Uint8Array;

/** Bytes that a UUIDv7 has beside its time. */
const ID_RANDOM_BYTES = 10;

/** A new public id: the prefix and 26 characters, later ones sort later. */
export function newId(prefix: IdPrefix, nowMs: number, random: RandomBytes): string {
  return `${prefix}_${timeOrderedId(nowMs, random(ID_RANDOM_BYTES))}`;
}

/** The machine's cryptographic random numbers. */
export const systemRandom: RandomBytes = (count) => crypto.getRandomValues(new Uint8Array(count));
