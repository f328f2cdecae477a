// Splits a rerank into pieces; each piece is one request to a lane. schedule.ts decides which lane computes which
// piece, and when.

import type { EarlyExit } from "../../ports/models.ts";

/** A piece of a rerank: some of its passages. */
export interface RerankPiece {
  /** Positions in the list of passages. */
  readonly indices: readonly number[];
  /** Estimated tokens of their pairs. */
  readonly tokens: number;
  /** Their part of the list's `EarlyExit`; null: all of them are read by all layers. */
  readonly earlyExit: EarlyExit | null;
}

/** Maximum tokens of a piece: one batch of the model in the lane. */
const PIECE_TOKENS_MAX = 512;
/**
 * Maximum tokens of a piece with early exit: fewer of them are read by all layers, and the encoder reads pairs one by
 * one.
 */
const EARLY_EXIT_TOKENS_MAX = 1024;
/**
 * Share of one lane's part of the remaining tokens that a piece takes. Below 1, so that a faster lane takes more
 * pieces.
 */
const SHARE_TAKEN = 0.6;

/**
 * The pieces of a rerank; every passage is in one.
 * @param tokens estimated tokens per (query, passage) pair
 * @param earlyExit null: all passages are read by all layers
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

/** The `EarlyExit` of some of the passages. `share` is their share of the tokens. */
function partOf({ priorScores, fullTokensMax }: EarlyExit, indices: readonly number[], share: number): EarlyExit {
  return {
    priorScores: indices.map((index) => priorScores[index] ?? 0),
    fullTokensMax: Math.ceil(fullTokensMax * share),
  };
}

/**
 * Deals the passages out in turns, so that each piece has likely and unlikely ones. Each lane gets the same number of
 * pieces, and none is larger than `EARLY_EXIT_TOKENS_MAX`, as far as dealing in turns can do that.
 * @returns indices below `count`; every one once
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
 * @param tokens estimated tokens per (query, passage) pair, `total` together
 * @returns indices into `tokens`; every index once
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
    // Take the next one too if that comes closer to the wanted size and fits.
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
