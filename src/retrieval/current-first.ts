// Puts the current passage before the one that it supersedes, by the stored relations of memories. If the question asks
// for an earlier state, the superseded one goes first. Runs on the final order, before calibration.

import type { MemoryId } from "../domain/ids.ts";
import { supersederOf } from "../domain/memory.ts";
import type { RankedPassage, Ranking } from "../domain/ranking.ts";
import type { Candidate, Hydrated } from "./candidate.ts";
import { askedTense, asksEarlierState } from "./time/tense.ts";

/** The question, and the language of its words, BCP 47; `und` if unknown. */
export interface AskedQuestion {
  readonly text: string;
  readonly language: string;
}

/**
 * Gives the current passage the place and score of the first passage that it supersedes, which then follows it. If the
 * question asks for an earlier state, moves the superseded passage in the same way. Other questions in the past tense
 * do not change the order.
 */
export function currentFirst(
  { text, language }: AskedQuestion,
  candidates: readonly Candidate[],
  hydrated: ReadonlyMap<bigint, Hydrated>,
): readonly Candidate[] {
  return inOrder({ text, language }, candidates, {
    newerOf: ({ chunkKey, supersededBy }) => {
      const found = hydrated.get(chunkKey);
      const stored = found === undefined ? null : supersederOf(found.memory, found.passage.place.ordinal);
      return stored ?? (supersededBy === undefined ? null : (hydrated.get(supersededBy)?.memory.id ?? null));
    },
    memoryOf: ({ chunkKey }) => hydrated.get(chunkKey)?.memory.id,
    isFoundNow: ({ supersededBy }) => supersededBy !== undefined,
    movedTo: ({ finalScore }, current) => ({ ...current, finalScore }),
  });
}

/** Like `currentFirst`, but for passages that are already calibrated. */
export function currentPassagesFirst(
  asked: AskedQuestion,
  passages: readonly RankedPassage[],
): readonly RankedPassage[] {
  return inOrder(asked, passages, {
    newerOf: ({ supersededBy }) => supersededBy,
    memoryOf: ({ memory }) => memory.id,
    isFoundNow: ({ supersededBy, outdatedBy }) => supersededBy === null && outdatedBy !== null,
    movedTo: ({ score }, current) => ({ ...current, score }),
  });
}

function inOrder<Item>(
  { text, language }: AskedQuestion,
  items: readonly Item[],
  {
    newerOf,
    memoryOf,
    isFoundNow,
    movedTo,
  }: {
    readonly newerOf: (item: Item) => MemoryId | null;
    readonly memoryOf: (item: Item) => MemoryId | undefined;
    /** Whether the search found out that the item is outdated (mark-replaced.ts), without a stored relation. */
    readonly isFoundNow: (item: Item) => boolean;
    /** Returns `moved` with the score of the item to whose place it moves. */
    readonly movedTo: (there: Item, moved: Item) => Item;
  },
): readonly Item[] {
  if (items.every((item) => newerOf(item) === null)) return items;
  const ordered = [...items];
  if (askedTense(text, language) === "past") {
    const isEarlier = asksEarlierState(text, language);
    // "what dose was I on": of two notes that answer it, the older one
    for (const outdated of items.filter((item) => newerOf(item) !== null && (isEarlier || isFoundNow(item)))) {
      const at = ordered.indexOf(outdated);
      const place = ordered.findIndex((each) => memoryOf(each) === newerOf(outdated));
      const current = ordered[place];
      if (current === undefined || place > at) continue;
      ordered.splice(at, 1);
      ordered.splice(place, 0, movedTo(current, outdated));
    }
    return ordered;
  }
  for (let place = 0; place < ordered.length; place++) {
    const outdated = ordered[place];
    const newer = outdated === undefined ? null : newerOf(outdated);
    if (outdated === undefined || newer === null) continue;
    const at = ordered.findIndex((each, at) => at > place && memoryOf(each) === newer);
    const current = ordered[at];
    if (current === undefined) continue;
    ordered.splice(at, 1);
    ordered.splice(place, 0, movedTo(outdated, current));
  }
  return ordered;
}

/**
 * Leaves out outdated passages if the passage that supersedes them is among the others. Questions in the past tense,
 * and questions about a past time, keep all passages.
 */
export function withoutOutdated(
  { text, language }: AskedQuestion,
  { asOf, time }: Pick<Ranking, "asOf" | "time">,
  passages: readonly RankedPassage[],
): readonly RankedPassage[] {
  if (passages.every(({ outdatedBy }) => outdatedBy === null) || askedTense(text, language) === "past") return passages;
  const isNow = (time?.from ?? -Infinity) <= asOf && asOf < (time?.to ?? Infinity);
  if (!isNow) return passages;
  const present = new Set(passages.map(({ memory }) => memory.id));
  return passages.filter(({ outdatedBy }) => outdatedBy === null || !present.has(outdatedBy));
}
