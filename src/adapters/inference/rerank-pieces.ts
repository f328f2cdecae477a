// How is a rerank shared out over the lanes? In pieces, each of which is one request to a lane. Who computes which piece, and when,
// is schedule.ts's.

import type { Contest } from "../../ports/models.ts";

/** Some passages of a rerank. */
export interface RerankPiece {
  /** Their places among the passages. */
  readonly indices: readonly number[];
  /** Estimated tokens of their pairs. */
  readonly tokens: number;
  /** Their share of the contest; null: all of them are read to the end. */
  readonly contest: Contest | null;
}

/** Tokens of a piece: one run of the model in the lane. */
const PIECE_TOKENS_MAX = 512;
/** The same of a contest, whose passages are not all read to the end, and by an encoder that reads them one by one. */
const CONTEST_TOKENS_MAX = 1024;
/** What a piece takes of one lane's share of what is left: less than all, so that the lane that is the faster one takes more pieces. */
const SHARE_TAKEN = 0.6;

/**
 * The pieces of a rerank; every passage is in one.
 * @param tokens estimated tokens per (query, passage) pair
 * @param contest null: all passages are read to the end
 */
export function rerankPieces(
  tokens: readonly number[],
  lanes: number,
  contest: Contest | null,
): readonly RerankPiece[] {
  const tokensOf = (indices: readonly number[]) => indices.reduce((sum, index) => sum + (tokens[index] ?? 0), 0);
  const total = tokensOf([...tokens.keys()]);
  const held = contest !== null && total > contest.tokensMax ? contest : null;
  const shares = held === null ? sharePassages(tokens, total, lanes) : dealPassages(tokens.length, total, lanes);
  return shares.map((indices) => {
    const ofPiece = tokensOf(indices);
    return { indices, tokens: ofPiece, contest: held && partOf(held, indices, ofPiece / total) };
  });
}

/** A contest of some of the passages, which have this share of the tokens. */
function partOf({ headStarts, tokensMax }: Contest, indices: readonly number[], share: number): Contest {
  return { headStarts: indices.map((index) => headStarts[index] ?? 0), tokensMax: Math.ceil(tokensMax * share) };
}

/**
 * Deals the passages of a contest out in turns, so that each piece has good ones and bad ones: as many pieces for each lane,
 * and none above `CONTEST_TOKENS_MAX`, as far as turns can do that.
 * @returns indices below `count`; every one once
 */
function dealPassages(count: number, total: number, lanes: number): readonly (readonly number[])[] {
  const pieceCount = Math.min(count, lanes * Math.ceil(total / (lanes * CONTEST_TOKENS_MAX)));
  const pieces: number[][] = Array.from({ length: pieceCount }, () => []);
  for (let index = 0; index < count; index += 1) pieces[index % pieceCount]?.push(index);
  return pieces;
}

/**
 * Shares the passages of a rerank out in pieces, each of passages of similar length: the first ones large, so that few
 * answers are waited for, the last ones single passages, so that no lane waits long for another one (guided
 * self-scheduling: Polychronopoulos and Kuck, 1987). None is larger than one run of the model.
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
    // The next one as well where that comes nearer to what is wanted, and fits.
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
