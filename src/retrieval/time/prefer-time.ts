// Applies the soft preference for the time that a query names to hydrated candidates, before the reranker.

import { type Candidate, distanceToRank, type Hydrated, ranksOf, sortByHybridScore } from "../candidate.ts";
import type { TimeSpan } from "./calendar.ts";
import { type DatedPassage, daysOfPassage, spanOf, timeScore } from "./time-preference.ts";
import { wallTimesOf, type ZonedTime } from "./zoned-time.ts";

/** Number of candidates that the preference reads, best hybrid score first. */
export const TIMED_CANDIDATES = 50;
/**
 * Maximum gain of a passage, as a share of the distance between the best hybrid score and that of the reference rank.
 * It is below 1, so that a passage behind the reference rank does not overtake the best one by its day alone. The
 * distance makes the gain fit the scores of every mode and model.
 */
const GAIN_SHARE_MAX = 0.8;
/** The reference rank. In a shorter list, it is the last one. */
const REFERENCE_RANK = 25;

/** Candidates in their new order, and the span of time that was preferred. */
export interface TimedCandidates {
  readonly candidates: readonly Candidate[];
  /** null if the query names no time, or an event that no candidate is about. */
  readonly span: TimeSpan | null;
}

/**
 * Adds the time score to the candidates' hybrid scores and orders them again.
 * @param candidates hydrated, best hybrid score first
 */
export function preferTime(
  candidates: readonly Candidate[],
  hydrated: ReadonlyMap<bigint, Hydrated>,
  time: ZonedTime | null,
): TimedCandidates {
  if (time === null || candidates.length === 0) return { candidates, span: null };
  const passages = candidates.flatMap(({ chunkKey }) => {
    const found = hydrated.get(chunkKey);
    return found === undefined ? [] : [datedPassage(found, time.zone)];
  });
  const span = spanOf(time, passages);
  if (span === null) return { candidates, span };
  const readsText = time.kind === "event" || !time.isYearOnly;
  const scores = passages.map((passage) => timeScore(span, daysOfPassage(passage, readsText)));
  const ranks = ranksOf(scores);
  // The feast of another year may be meant.
  const share = time.kind !== "event" && time.isAnyFeast ? GAIN_SHARE_MAX / 2 : GAIN_SHARE_MAX;
  const gain = share * distanceToRank(REFERENCE_RANK, candidates);
  const preferred = candidates.map((candidate, position) => {
    const score = scores[position] ?? 0;
    const hybridScore = candidate.hybridScore + gain * score;
    const signals = { ...candidate.signals, time: { rank: ranks[position] ?? 0, score } };
    return { ...candidate, signals, hybridScore };
  });
  return { candidates: sortByHybridScore(preferred), span };
}

function datedPassage({ memory, passage }: Hydrated, zone: string): DatedPassage {
  return { memory: wallTimesOf(memory, zone), text: passage.text, turnDay: passage.place.turn?.date ?? null };
}
