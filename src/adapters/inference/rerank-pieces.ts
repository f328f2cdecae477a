// Splits a rerank or reading into pieces; each piece is one request to a lane. schedule.ts decides which lane computes
// which piece, and when.

import type { EarlyExit } from "../../ports/models.ts";
import { packRuns } from "./batches.ts";

/** A piece of a rerank: some of its passages. */
export interface RerankPiece {
  /** Positions of the passages in the list of the rerank. */
  readonly indices: readonly number[];
  /** Estimated number of tokens of the pairs. */
  readonly tokens: number;
  /** The `EarlyExit` for these passages; null if all of them pass through all layers. */
  readonly earlyExit: EarlyExit | null;
}

/** Maximum number of tokens of a piece without early exit: one batch of the model. */
const PIECE_TOKENS_MAX = 512;
/**
 * Maximum number of tokens of a piece with early exit. It may be larger, because fewer tokens pass through all layers
 * and the encoder computes pairs one by one.
 */
const EARLY_EXIT_TOKENS_MAX = 1024;
/** Maximum number of tokens of a piece for a GPU. It is large, because a GPU computes a whole rerank at once. */
const GPU_PIECE_TOKENS_MAX = 8192;
/**
 * Size of a piece, as a share of (remaining tokens / number of lanes). Below 1, so that a faster lane can compute more
 * pieces.
 */
const SHARE_TAKEN = 0.6;

/**
 * Splits a rerank into pieces; every passage is in exactly one.
 * @param tokens estimated number of tokens per (query, passage) pair
 * @param earlyExit null if all passages must pass through all layers
 */
export function rerankPieces(
  tokens: readonly number[],
  lanes: number,
  earlyExit: EarlyExit | null,
): readonly RerankPiece[] {
  const tokensOf = (indices: readonly number[]) => indices.reduce((sum, index) => sum + (tokens[index] ?? 0), 0);
  const total = tokensOf([...tokens.keys()]);
  const applied = earlyExit !== null && total > earlyExit.fullTokensMax ? earlyExit : null;
  const shares = applied === null ? sharePassages(tokens, total, lanes) : dealPassages(tokens.length, total, lanes);
  return shares.map((indices) => {
    const pieceTokens = tokensOf(indices);
    return { indices, tokens: pieceTokens, earlyExit: applied && partOf(applied, indices, pieceTokens / total) };
  });
}

/**
 * Splits a rerank into pieces for lanes on GPUs: as few as possible, without early exit.
 * @param tokens estimated number of tokens per (query, passage) pair
 */
export function gpuRerankPieces(tokens: readonly number[]): readonly RerankPiece[] {
  return packRuns(tokens, GPU_PIECE_TOKENS_MAX).map(({ indices }) => ({
    indices,
    tokens: indices.reduce((sum, index) => sum + (tokens[index] ?? 0), 0),
    earlyExit: null,
  }));
}

/** The `EarlyExit` for some of the passages. @param share their share of all tokens, 0..1 */
function partOf({ priorScores, fullTokensMax }: EarlyExit, indices: readonly number[], share: number): EarlyExit {
  return {
    priorScores: indices.map((index) => priorScores[index] ?? 0),
    fullTokensMax: Math.ceil(fullTokensMax * share),
  };
}

/**
 * Deals the passages to the pieces in turns, like cards, so that each piece has likely and unlikely ones. The number of
 * pieces is a multiple of the number of lanes, and large enough that a piece of average size has at most
 * `EARLY_EXIT_TOKENS_MAX` tokens.
 * @returns the positions of each piece's passages
 */
function dealPassages(count: number, total: number, lanes: number): readonly (readonly number[])[] {
  const pieceCount = Math.min(count, lanes * Math.ceil(total / (lanes * EARLY_EXIT_TOKENS_MAX)));
  const pieces: number[][] = Array.from({ length: pieceCount }, () => []);
  for (let index = 0; index < count; index += 1) pieces[index % pieceCount]?.push(index);
  return pieces;
}

/**
 * Splits the passages of a rerank into pieces of similar passage length. The first pieces are large, which saves
 * requests. The last ones are single passages, so that no lane waits long for another one (guided self-scheduling,
 * Polychronopoulos and Kuck, 1987). No piece is larger than one batch of the model.
 * @param tokens estimated number of tokens per (query, passage) pair; their sum is `total`
 * @returns the positions of each piece's passages
 */
function sharePassages(tokens: readonly number[], total: number, lanes: number): readonly (readonly number[])[] {
  const tokensOf = (index: number) => tokens[index] ?? 0;
  const longestFirst = tokens.map((_, index) => index).sort((a, b) => tokensOf(b) - tokensOf(a));
  const pieces: number[][] = [];
  let left = total;
  while (longestFirst.length > 0) {
    const wanted = Math.min(PIECE_TOKENS_MAX, (left / lanes) * SHARE_TAKEN);
    let taken = tokensOf(longestFirst[0] ?? 0);
    let count = 1;
    // Adds the next passage if the size gets closer to the wanted size and the piece still fits in a batch.
    for (; count < longestFirst.length; count += 1) {
      const next = tokensOf(longestFirst[count] ?? 0);
      if (taken + next / 2 > wanted || taken + next > PIECE_TOKENS_MAX) break;
      taken += next;
    }
    pieces.push(longestFirst.splice(0, count));
    left -= taken;
  }
  return pieces;
}
