// Chance: where ids and keys take their random bytes from, so that tests can hand in their own.

/** Makes `count` random bytes. */
export type RandomBytes = (count: number) => Uint8Array;

/** The machine's cryptographic random numbers. */
export const systemRandom: RandomBytes = (count) => crypto.getRandomValues(new Uint8Array(count));
