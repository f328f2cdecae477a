// Packs inputs of similar length into batches, so that little computation is spent on padding.

/** A batch: the inputs of one run of a model. */
export interface PackedRun {
  /** Positions of the inputs in the list that was packed. */
  readonly indices: readonly number[];
  /** Number of tokens of the longest input. The others are padded to this length. */
  readonly length: number;
}

/**
 * Packs inputs, sorted by length, into batches of at most `tokensMax` tokens, padding included. Every input is in
 * exactly one batch. An input that is longer than `tokensMax` is a batch of its own.
 * @param lengths number of tokens per input
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
