// Decides whether two notes are rows of one list, so that both are valid: "Bus 7 to Lund leaves at 8:15" and "Bus 9 to
// Lund leaves at 9:15". Such notes have the same words, except for what identifies the row (7, 9) and its value. If
// only one place differs, the newer note may be a correction.

import type { PlacedWord } from "./substitutes.ts";

/** Minimum share of the words of the shorter note that both have, in the same order. */
const SHARED_MIN = 0.5;

/** A place where the words of two notes differ. */
interface Slot {
  readonly older: readonly PlacedWord[];
  readonly newer: readonly PlacedWord[];
  /** Number of shared words with a meaning before it. */
  readonly sharedBefore: number;
}

/**
 * Whether two notes differ in at least two places with shared words between them, and the first place identifies the
 * row: it has a number, or the note begins with it. All days and times of a note count as one place.
 */
export function areRowsOfList(older: readonly PlacedWord[], newer: readonly PlacedWord[]): boolean {
  const { slots, shared } = aligned(older, newer);
  if (shared < SHARED_MIN * Math.min(older.length, newer.length)) return false;
  const replaced = slots.filter((slot) => slot.older.some(isValue) && slot.newer.some(isValue));
  const first = replaced.find((slot) => !isWhen(slot) && (slot.sharedBefore === 0 || hasNumbers(slot)));
  return first !== undefined && replaced.some((slot) => slot.sharedBefore > first.sharedBefore);
}

function aligned(older: readonly PlacedWord[], newer: readonly PlacedWord[]) {
  const lengths = commonLengths(older, newer);
  const slots: Slot[] = [];
  let [left, right, shared, sharedBefore] = [0, 0, 0, 0];
  let [gone, come]: [PlacedWord[], PlacedWord[]] = [[], []];
  const close = () => {
    if (gone.length + come.length > 0) slots.push({ older: gone, newer: come, sharedBefore });
    [gone, come] = [[], []];
  };
  while (left < older.length || right < newer.length) {
    const [own, other] = [older[left], newer[right]];
    if (own !== undefined && own.stem === other?.stem) {
      close();
      shared += 1;
      sharedBefore += Number(own.hasMeaning);
      left += 1;
      right += 1;
    } else if (
      own !== undefined &&
      (other === undefined || lengthAt(lengths, left + 1, right) >= lengthAt(lengths, left, right + 1))
    ) {
      gone.push(own);
      left += 1;
    } else if (other !== undefined) {
      come.push(other);
      right += 1;
    }
  }
  close();
  return { slots, shared };
}

/**
 * For each pair of positions, the number of words that the two notes share from there on in the same order (longest
 * common subsequence).
 */
function commonLengths(older: readonly PlacedWord[], newer: readonly PlacedWord[]): readonly Uint16Array[] {
  const rows = Array.from({ length: older.length + 1 }, () => new Uint16Array(newer.length + 1));
  for (let left = older.length - 1; left >= 0; left--) {
    const row = rows[left];
    if (row === undefined) continue;
    for (let right = newer.length - 1; right >= 0; right--) {
      const isSame = older[left]?.stem === newer[right]?.stem;
      row[right] = isSame
        ? lengthAt(rows, left + 1, right + 1) + 1
        : Math.max(lengthAt(rows, left + 1, right), lengthAt(rows, left, right + 1));
    }
  }
  return rows;
}

function lengthAt(lengths: readonly Uint16Array[], left: number, right: number): number {
  return lengths[left]?.[right] ?? 0;
}

function isValue({ hasMeaning, word }: PlacedWord): boolean {
  return hasMeaning || NUMBER.test(word);
}

const NUMBER = /\p{Nd}/u;

function hasNumbers({ older, newer }: Slot): boolean {
  return [older, newer].every((words) => words.some((word) => !word.isWhen && NUMBER.test(word.word)));
}

/** Whether the two notes differ at this place only in days and times. */
function isWhen({ older, newer }: Slot): boolean {
  return [older, newer].every((words) => words.filter(isValue).every((word) => word.isWhen));
}
