// Puts the passage that is current before the one that it supersedes, by the stored relations of memories; for a
// question for an earlier state, the one that is superseded first. Runs on the final order, before calibration.

import type { MemoryId } from "../domain/ids.ts";
import { supersederOf } from "../domain/memory.ts";
import type { RankedPassage } from "../domain/ranking.ts";
import type { Candidate, Hydrated } from "./candidate.ts";
import { askedTense, asksEarlierState } from "./time/tense.ts";

/** The question, and the language of its words, BCP 47; `und` if unknown. */
export interface AskedQuestion {
  readonly text: string;
  readonly language: string;
}

/**
 * Moves the current passage to the place and the score of the first passage that it supersedes, which follows it. For a
 * question for an earlier state, moves the superseded passage in the same way.
 */
export function currentFirst(
  { text, language }: AskedQuestion,
  candidates: readonly Candidate[],
  hydrated: ReadonlyMap<bigint, Hydrated>,
): readonly Candidate[] {
  return inOrder({ text, language }, candidates, {
    newerOf: ({ chunkKey }) => {
      const found = hydrated.get(chunkKey);
      return found === undefined ? null : supersederOf(found.memory, found.passage.place.ordinal);
    },
    memoryOf: ({ chunkKey }) => hydrated.get(chunkKey)?.memory.id,
    movedTo: ({ finalScore }, current) => ({ ...current, finalScore }),
  });
}

/** The same for passages that are ranked. */
export function currentPassagesFirst(
  asked: AskedQuestion,
  passages: readonly RankedPassage[],
): readonly RankedPassage[] {
  return inOrder(asked, passages, {
    newerOf: ({ supersededBy }) => supersededBy,
    memoryOf: ({ memory }) => memory.id,
    movedTo: ({ score }, current) => ({ ...current, score }),
  });
}

function inOrder<Item>(
  { text, language }: AskedQuestion,
  items: readonly Item[],
  {
    newerOf,
    memoryOf,
    movedTo,
  }: {
    readonly newerOf: (item: Item) => MemoryId | null;
    readonly memoryOf: (item: Item) => MemoryId | undefined;
    /** An item with the score of the one to whose place it moves. */
    readonly movedTo: (there: Item, moved: Item) => Item;
  },
): readonly Item[] {
  if (items.every((item) => newerOf(item) === null)) return items;
  const ordered = [...items];
  if (askedTense(text, language) === "past") {
    if (!asksEarlierState(text, language)) return items;
    for (const outdated of items.filter((item) => newerOf(item) !== null)) {
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
