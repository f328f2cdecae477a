// Random numbers for jitter in waits. They need not be reproducible, so there is no seed.

/** A random number from 0, included, to 1, excluded. */
export function randomFraction(): number {
  const [word = 0] = crypto.getRandomValues(new Uint32Array(1));
  return word / 2 ** 32;
}
