// Puts passages of the time that a query names before a passage of another time that answers about equally well. Runs
// on the final order, before calibration.

import type { Curve } from "../../domain/retrieval-tuning.ts";
import { fold } from "../../kit/fold.ts";
import type { Candidate, Hydrated } from "../candidate.ts";
import { wordsIn } from "./words.ts";
import type { ZonedTime } from "./zoned-time.ts";

/** A query, and the time that it names. */
export interface DatedQuery {
  readonly text: string;
  /** BCP 47; `und` if unknown. */
  readonly language: string;
  readonly time: ZonedTime | null;
}

/**
 * Passages answer about equally well if the logits of their scores differ by at most this, and the numbers of the
 * query's words in them by at most `WORDS_MAX`. Chosen on bench/fixtures/times-dev.
 */
const LOGITS_MAX = 2;
const WORDS_MAX = 1;

/**
 * If the best passage is of another time than the named one, passages of the named time that answer about as well go
 * before it. Scores stay at their places in the list. The moved passages keep their order, and so do the others. An
 * event, such as "before the move", moves nothing: its day is a guess.
 * @param curve calibrates the scores of the candidates
 */
export function timeFirst(
  { text, language, time }: DatedQuery,
  candidates: readonly Candidate[],
  hydrated: ReadonlyMap<bigint, Hydrated>,
  { slope, gapSlope }: Curve,
): readonly Candidate[] {
  const best = candidates[0];
  if (time === null || time.kind === "event" || best === undefined) return candidates;
  const textOf = ({ chunkKey }: Candidate) => hydrated.get(chunkKey)?.passage.text ?? "";
  // Full text finds a year that is written in a passage, so it is about that year: "the 2024 report".
  if (isOfTime(best) || (time.isYearOnly && textOf(best).includes(yearIn(time.expression)))) return candidates;
  const asked = wordsIn(fold(text).replace(fold(time.expression), " "), language);
  const wordsOf = (candidate: Candidate) => {
    const words = wordsIn(textOf(candidate), language);
    return [...asked].filter((word) => words.has(word)).length;
  };
  const scoreMin = best.finalScore - LOGITS_MAX / (slope + gapSlope);
  const near = candidates.filter((candidate) => isOfTime(candidate) && candidate.finalScore >= scoreMin);
  if (near.length === 0) return candidates;
  const wordsMin = wordsOf(best) - WORDS_MAX;
  const first = near.filter((candidate) => wordsOf(candidate) >= wordsMin);
  const moved = new Set(first);
  return [...first, ...candidates.filter((candidate) => !moved.has(candidate))].map((candidate, place) => ({
    ...candidate,
    finalScore: candidates[place]?.finalScore ?? candidate.finalScore,
  }));
}

function isOfTime({ signals }: Candidate): boolean {
  return signals.time?.score === 1;
}

function yearIn(expression: string): string {
  return /\d{4}/.exec(expression)?.[0] ?? expression;
}
