// Normally distributed random numbers.

/** Numbers of a normal distribution with mean 0 and deviation 1, from uniform ones in 0..1 (Box and Muller, 1958). */
export function gaussians(random: () => number): () => number {
  return () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
