// Puts the passage that is current before the one that it supersedes, by the stored relations of memories. Runs on the
// final order, before calibration.

import { supersederOf } from "../domain/memory.ts";
import type { RankedPassage } from "../domain/ranking.ts";
import type { Candidate, Hydrated } from "./candidate.ts";
import { askedTense } from "./time/tense.ts";

/** The question, and the language of its words, BCP 47; `und` if unknown. */
export interface AskedQuestion {
  readonly text: string;
  readonly language: string;
}

/**
 * Moves the current passage to the place and the score of the first passage that it supersedes, which follows it. A
 * question for an earlier state changes nothing.
 */
export function currentFirst(
  { text, language }: AskedQuestion,
  candidates: readonly Candidate[],
  hydrated: ReadonlyMap<bigint, Hydrated>,
): readonly Candidate[] {
  const newerOf = ({ chunkKey }: Candidate) => {
    const found = hydrated.get(chunkKey);
    return found === undefined ? null : supersederOf(found.memory, found.passage.place.ordinal);
  };
  if (!candidates.some((candidate) => newerOf(candidate) !== null)) return candidates;
  if (askedTense(text, language) === "past") return candidates;
  const ordered = [...candidates];
  for (let place = 0; place < ordered.length; place++) {
    const outdated = ordered[place];
    const newer = outdated === undefined ? null : newerOf(outdated);
    if (outdated === undefined || newer === null) continue;
    const at = ordered.findIndex((each, at) => at > place && hydrated.get(each.chunkKey)?.memory.id === newer);
    const current = ordered[at];
    if (current === undefined) continue;
    ordered.splice(at, 1);
    ordered.splice(place, 0, { ...current, finalScore: outdated.finalScore });
  }
  return ordered;
}

/**
 * The passages without those that are outdated, if the newer one is among them. A question for an earlier state gets
 * all of them.
 */
export function withoutOutdated(
  { text, language }: AskedQuestion,
  passages: readonly RankedPassage[],
): readonly RankedPassage[] {
  if (passages.every(({ outdatedBy }) => outdatedBy === null) || askedTense(text, language) === "past") return passages;
  const present = new Set(passages.map(({ memory }) => memory.id));
  return passages.filter(({ outdatedBy }) => outdatedBy === null || !present.has(outdatedBy));
}
