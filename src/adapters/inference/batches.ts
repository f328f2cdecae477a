// Packs inputs of similar length into batches, so that little computation goes into padding. Pure.

/** One batch: the inputs of one run of a model. */
export interface PackedRun {
  /** Positions in the packed list. */
  readonly indices: readonly number[];
  /** Tokens of the longest input; the others are padded to it. */
  readonly length: number;
}

/**
 * Packs inputs, sorted by length, into runs of at most `tokensMax` padded tokens. Every input is in exactly one run. An
 * input that is longer than `tokensMax` runs alone.
 * @param lengths tokens per input
 */
export function packRuns(lengths: readonly number[], tokensMax: number): readonly PackedRun[] {
  const byLength = lengths.map((length, index) => ({ length, index })).sort((a, b) => a.length - b.length);
  const runs: PackedRun[] = [];
  let indices: number[] = [];
  let longest = 0;
  for (const { length, index } of byLength) {
    if (indices.length > 0 && (indices.length + 1) * length > tokensMax) {
      runs.push({ indices, length: longest });
      indices = [];
    }
    indices.push(index);
    longest = length;
  }
  if (indices.length > 0) runs.push({ indices, length: longest });
  return runs;
}
