// Tells memories that contradict each other (the same subject and attribute with another value) from memories that are
// merely similar, by their words alone, and puts the one first that the query asks for. Pure functions over the best
// candidates of a search; about 1 ms for ten.

import { fold } from "../../kit/fold.ts";
import { logisticProbability } from "../../kit/logistic.ts";
import { dayStart } from "./calendar.ts";
import { type Lexeme, languagesOf, lexemesOf, lexiconOf } from "./lexicon.ts";
import type { AskedTense } from "./tense.ts";
import { wordsIn } from "./words.ts";

/** What the detector reads of a candidate. */
export interface Statement {
  readonly text: string;
  /** BCP 47; `und` if unknown. */
  readonly language: string;
  /** When it happened, Unix milliseconds. */
  readonly happenedAt: number;
  /** Score by which the candidates are ordered. */
  readonly score: number;
}

/** The query that the statements were found for. */
export interface AskedQuery {
  readonly text: string;
  /** BCP 47; `und` if unknown. */
  readonly language: string;
  readonly tense: AskedTense;
}

/** The content of a statement that shows values and changes. */
interface StatementContent {
  readonly words: ReadonlySet<string>;
  readonly weekdays: ReadonlySet<string>;
  /** Number of words that say that something has changed, such as "moved" and "no longer". */
  readonly changes: number;
  readonly characters: number;
}

/** Number of candidates that are compared. */
export const COMPARED_MAX = 10;
/** Maximum length of a statement, in UTF-16 code units. Longer passages are documents. */
export const STATEMENT_UNITS_MAX = 400;
/** Only these leading places get another memory. */
const LEADING_PLACES = 3;
/** Minimum probability of a contradiction. */
const CONTRADICTION_MIN = 0.25;
/** A word that occurs in at most this many candidates is rare among them. */
const RARE_MAX = 3;

/**
 * Weights of a logistic regression: the probability that two statements contradict each other. Fitted on the notes and
 * questions of 41 invented persons in 24 languages, 234 contradicting pairs among 20,441 (docs/measurements.md).
 */
const WEIGHTS = {
  bias: -1.3,
  /** Shared content words, as a share of those of the shorter statement; and their number, at most 3. */
  sharedShare: 1.83,
  sharedWords: -0.47,
  /** Number of shared words that are rare among the candidates, at most 3. */
  rareShared: 1.45,
  /** Number of words of change in the newer statement and in the older one, at most 2. */
  changesInNewer: 0.68,
  changesInOlder: -0.93,
  /** 1 if the newer statement has a word of change and shares a content word with the older one. */
  changesShared: 1.29,
  /** 1 if both name weekdays, and different ones. */
  otherWeekday: 1.12,
  /** Distance of the scores, relative to that of the best candidate from the median. */
  gap: -1.33,
  /** Places of the two, the lower one divided by 5 and the upper one by 3. */
  lowerPlace: -1.45,
  upperPlace: -1.72,
  /** Content words of the query in both, only in the upper and only in the lower one, relative to their number. */
  askedInBoth: -0.04,
  askedInUpper: -0.47,
  askedInLower: -0.52,
  /** Lengths in units of 80 characters, at most 2. */
  newerLength: -0.81,
  olderLength: -1.03,
  /** 1 if the query has a word such as "now". */
  asksNow: 1.14,
  /** 1 if neither has a content word of the query. */
  unasked: -1.13,
} as const;

/** A contradiction between two candidates, by their places. */
export interface Contradiction {
  /** Place of the memory that the query does not ask for, but that ranks higher. */
  readonly upper: number;
  /** Place of the memory that the query asks for. */
  readonly lower: number;
}

/**
 * The contradictions that the order of the candidates gets wrong: a query about the present ranks the older memory
 * higher, or a query about the past the newer one. Each candidate takes part in one contradiction at most.
 * @param statements the best candidates in their order; null for those that cannot contradict another, such as long
 *   passages
 */
export function contradictions(query: AskedQuery, statements: readonly (Statement | null)[]): readonly Contradiction[] {
  const compared = statements.slice(0, COMPARED_MAX);
  const pairs = misorderedPairs(query.tense, compared);
  if (pairs.length === 0) return [];
  const contents = compared.map((statement) => (statement === null ? null : contentOf(statement)));
  const frequencies = new Map<string, number>();
  for (const content of contents) {
    for (const word of content?.words ?? []) frequencies.set(word, (frequencies.get(word) ?? 0) + 1);
  }
  const asked = { words: wordsIn(query.text, query.language), hasNow: asksNow(query) };
  const spread = spreadOf(compared);
  const found = pairs
    .map((pair) => {
      const [upper, lower] = [contents[pair.upper], contents[pair.lower]];
      if (!upper || !lower) return { ...pair, probability: 0 };
      const [older, newer] = query.tense === "present" ? [upper, lower] : [lower, upper];
      const gap = ((compared[pair.upper]?.score ?? 0) - (compared[pair.lower]?.score ?? 0)) / spread;
      return {
        ...pair,
        probability: probabilityOf(
          { ...pair, upperWords: upper.words, lowerWords: lower.words, older, newer, gap },
          asked,
          frequencies,
        ),
      };
    })
    .filter(({ probability }) => probability >= CONTRADICTION_MIN)
    .sort((left, right) => left.upper - right.upper || right.probability - left.probability);
  const taken = new Set<number>();
  const chosen: Contradiction[] = [];
  for (const { upper, lower } of found) {
    if (taken.has(upper) || taken.has(lower)) continue;
    taken.add(upper).add(lower);
    chosen.push({ upper, lower });
  }
  return chosen;
}

/** The new order of `items` after each lower one took the place of its upper one, which follows it. */
export function reordered<Item>(items: readonly Item[], found: readonly Contradiction[]): Item[] {
  const order = [...items.keys()];
  for (const { upper, lower } of found) {
    order.splice(order.indexOf(lower), 1);
    order.splice(order.indexOf(upper), 0, lower);
  }
  return order.flatMap((place) => items.slice(place, place + 1));
}

function misorderedPairs(tense: AskedTense, statements: readonly (Statement | null)[]): Contradiction[] {
  const pairs: Contradiction[] = [];
  for (const [upper, first] of statements.slice(0, LEADING_PLACES).entries()) {
    for (const [lower, second] of statements.entries()) {
      if (first === null || second === null || lower <= upper) continue;
      const days = dayStart(second.happenedAt) - dayStart(first.happenedAt);
      if (tense === "present" ? days > 0 : days < 0) pairs.push({ upper, lower });
    }
  }
  return pairs;
}

interface ComparedPair extends Contradiction {
  readonly upperWords: ReadonlySet<string>;
  readonly lowerWords: ReadonlySet<string>;
  readonly older: StatementContent;
  readonly newer: StatementContent;
  readonly gap: number;
}

function probabilityOf(
  { upper, lower, upperWords, lowerWords, older, newer, gap }: ComparedPair,
  asked: { readonly words: ReadonlySet<string>; readonly hasNow: boolean },
  frequencies: ReadonlyMap<string, number>,
): number {
  const shared = [...older.words].filter((word) => newer.words.has(word));
  const rare = shared.filter((word) => (frequencies.get(word) ?? 0) <= RARE_MAX).length;
  const shorter = Math.max(1, Math.min(older.words.size, newer.words.size));
  const inUpper = [...asked.words].filter((word) => upperWords.has(word));
  const inBoth = inUpper.filter((word) => lowerWords.has(word)).length;
  const inLower = [...asked.words].filter((word) => lowerWords.has(word) && !upperWords.has(word)).length;
  const perWord = 2 / Math.max(1, asked.words.size);
  const haveWeekdays = older.weekdays.size > 0 && newer.weekdays.size > 0;
  const features: Record<Exclude<keyof typeof WEIGHTS, "bias">, number> = {
    sharedShare: shared.length / shorter,
    sharedWords: Math.min(3, shared.length),
    rareShared: Math.min(3, rare),
    changesInNewer: Math.min(2, newer.changes),
    changesInOlder: Math.min(2, older.changes),
    changesShared: Number(newer.changes > 0 && shared.length > 0),
    otherWeekday: Number(haveWeekdays && ![...older.weekdays].some((day) => newer.weekdays.has(day))),
    gap,
    lowerPlace: lower / 5,
    upperPlace: upper / 3,
    askedInBoth: inBoth * perWord,
    askedInUpper: (inUpper.length - inBoth) * perWord,
    askedInLower: inLower * perWord,
    newerLength: Math.min(2, newer.characters / 80),
    olderLength: Math.min(2, older.characters / 80),
    asksNow: Number(asked.hasNow),
    unasked: Number(inUpper.length === 0 && inLower === 0),
  };
  return logisticProbability(WEIGHTS, features);
}

function contentOf({ text, language }: Statement): StatementContent {
  const lexemes = lexemesIn(text, language);
  return {
    words: wordsIn(text, language),
    weekdays: new Set(lexemes.flatMap(({ meanings }) => [...meanings].filter((name) => name.startsWith("weekday")))),
    changes: changesAmong(lexemes),
    characters: [...text].length,
  };
}

/** Number of words that say that something has changed, such as "moved" and "no longer". */
export function changesIn({ text, language }: Pick<Statement, "text" | "language">): number {
  return changesAmong(lexemesIn(text, language));
}

function changesAmong(lexemes: readonly Lexeme[]): number {
  return lexemes.filter(({ meanings }) => meanings.has("change")).length;
}

/** Whether a query has a word such as "now". */
export function asksNow({ text, language }: Pick<AskedQuery, "text" | "language">): boolean {
  return lexemesIn(text, language).some(({ meanings }) => meanings.has("now"));
}

function lexemesIn(text: string, language: string) {
  const plain = fold(text);
  return languagesOf(plain, language).likely.flatMap((each) => lexemesOf(plain, lexiconOf(each)));
}

// The distance of the best score from the median, so that gaps are comparable between modes and models.
function spreadOf(statements: readonly (Statement | null)[]): number {
  const scores = statements.flatMap((statement) => (statement === null ? [] : [statement.score]));
  const sorted = scores.sort((left, right) => right - left);
  return Math.max(1e-6, (sorted[0] ?? 0) - (sorted[Math.floor(sorted.length / 2)] ?? 0));
}
