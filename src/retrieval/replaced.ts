// Tells which notes a newer one has probably replaced, as answers to a question: "Sold the Berlingo. Got a green Caddy"
// replaces "We drive a Berlingo". Stored relations tell it of corrections in the same words (current-first.ts). Here
// the question helps to recognise others, because both notes answer it. Pure; about 3 ms for twenty notes.

import { type Dated, isNewer } from "../domain/relation.ts";
import { EVENT_LOGIT_MIN, type ReplacementTuning } from "../domain/retrieval-tuning.ts";
import { dot, probeLogit } from "../kit/dot.ts";
import { regressionProbability } from "../kit/logistic.ts";
import { areRowsOfList } from "./list-rows.ts";
import { type LackingSpecifics, lackingSpecifics, type Specifics, specificsOf } from "./specifics.ts";
import { type PlacedWord, placedWords, substitutesIn } from "./substitutes.ts";
import { asksNow, changesIn, type TextInLanguage } from "./time/change-words.ts";
import { isExceptionOf } from "./time/occasions.ts";
import { askedTense, asksEarlierState } from "./time/tense.ts";
import { wordsIn } from "./time/words.ts";

/** A note that a search found. */
export interface ComparedNote extends TextInLanguage {
  /** Notes of different owners do not replace each other. */
  readonly owner: string;
  readonly dated: Dated;
  /** Rank of its vector among all candidates, from 1; null if it has none. */
  readonly rank: number | null;
  /** Cosine of its vector and that of the question. */
  readonly cosine: number | null;
  /** Its vector; null if it has none. */
  readonly vector: Float32Array | null;
}

/** A note, and the newer one that has probably replaced it, by their places in the list. */
export interface Replaced {
  readonly older: number;
  readonly newer: number;
}

/** Minimum probability of being replaced. */
const REPLACED_MIN = 0.5;
/** A question about the past may mean an older note of at most this rank. */
const PAST_RANK_MAX = 3;
/**
 * One fact is rarely corrected more often. More notes that are this much alike are entries of a list, such as the rows
 * of a timetable, and all of them hold.
 */
const CORRECTIONS_MAX = 3;
/** Logit of the change probe from which on a note says that something has changed. */
const CHANGE_LOGIT_MIN = 0.2;
/** The same for a note that replaces one about an event: what was bought can be sold, what was paid stays paid. */
const EVENT_CHANGE_LOGIT_MIN = 0.5;
/** Minimum number of words of a question that states something; fewer are a name, or the words of a search. */
const STATED_MIN = 4;
/** Ranks from here on count alike. */
const RANK_MAX = 10;
/** Number of shared words, and of words of change, from which on more say nothing. */
const SHARED_MAX = 3;
const CHANGES_MAX = 2;
/** Length in characters that counts as 1, up to 2. */
const LENGTH_UNIT = 80;

/** Weights of the words of two notes for models without a `ReplacementTuning`; fitted as those are. */
const WORDS_ONLY = {
  bias: -2.26,
  newerRank: -1.25,
  sharedWords: 0.93,
  sharedShare: 0.92,
  changesInNewer: 1.33,
  changesInOlder: -1.47,
  asksNow: 1.85,
  newerLength: 1.46,
  lackingNames: -2.6,
} as const;

/** What is read of a note once. */
export interface ReadNote {
  readonly note: ComparedNote;
  readonly words: ReadonlySet<string>;
  readonly placed: readonly PlacedWord[];
  readonly changes: number;
  /** What it lacks of the numbers, codes and names of the question. */
  readonly lacking: LackingSpecifics;
}

/** What is read of a question once. */
export interface ReadQuestion {
  readonly text: TextInLanguage;
  readonly words: ReadonlySet<string>;
  readonly placed: readonly PlacedWord[];
  /** 1 if it has a word such as "now". */
  readonly now: 0 | 1;
  readonly isPast: boolean;
  /** Whether it asks for what was before something. */
  readonly isEarlier: boolean;
}

/** Reads a question; null if it is a name alone or has no words, because then it asks for nothing that can change. */
export function readQuestion(text: TextInLanguage): ReadQuestion | null {
  const placed = placedWords(text);
  if (placed.length < 2) return null;
  return {
    ...{ text, words: wordsIn(text.text, text.language), placed, now: asksNow(text) ? 1 : 0 },
    isPast: askedTense(text.text, text.language) === "past",
    isEarlier: asksEarlierState(text.text, text.language),
  };
}

/**
 * For each note that a newer one of the same owner has probably replaced, the newer one that replaces it most probably.
 * Neighbours replace nothing, nor does a note that lacks a number of the question which the older one has.
 */
export function replacedAmong(
  asked: ReadQuestion,
  notes: readonly (ComparedNote | null)[],
  tuning: ReplacementTuning | null,
): readonly Replaced[] {
  const specifics = specificsOf(asked.text.text, asked.text.language);
  const reads = notes.map((note) => (note === null ? null : readOnce(note, specifics)));
  const found: Replaced[] = [];
  for (const [older, before] of notes.entries()) {
    if (asked.isPast && (before?.rank ?? 1) > PAST_RANK_MAX) continue;
    let best = { newer: -1, probability: REPLACED_MIN };
    for (const [newer, after] of notes.entries()) {
      if (before === null || after === null || before.owner !== after.owner) continue;
      if (!isNewer(after.dated, before.dated) || (after.rank ?? 1) > RANK_MAX) continue;
      const [own, other] = [reads[older]?.(), reads[newer]?.()];
      if (own === undefined || other === undefined) continue;
      if (other.lacking.codes > own.lacking.codes) continue;
      if (asked.isPast && !isMeantByPast(asked, own.words, other.words)) continue;
      if (tuning !== null && cosineGap(before, after) > tuning.cosineGapMax) continue;
      const probability = probabilityOf(own, other, asked.now, tuning);
      if (probability < best.probability) continue;
      if (areNeighbours(asked.placed, own, other, tuning)) continue;
      best = { newer, probability };
    }
    if (best.newer !== -1) found.push({ older, newer: best.newer });
  }
  return withoutLists(found, (note) => reads[note]?.().words ?? new Set());
}

/** How much nearer the newer note is to the question; 0 if it is not, or if the vector of one is not known. */
function cosineGap({ cosine: older }: ComparedNote, { cosine: newer }: ComparedNote): number {
  return older === null || newer === null ? 0 : Math.max(0, newer - older);
}

/**
 * Whether two notes are about things alike, so that both hold: the newer one has another word in the place of a word of
 * the question, only one of them says what the question states, the newer one is about one occasion of what happens
 * every week, or nothing says that something has changed, and they are rows of a list, or the older one tells of an
 * event, such as a payment.
 */
export function areNeighbours(
  question: readonly PlacedWord[],
  older: ReadNote,
  newer: ReadNote,
  tuning: ReplacementTuning | null,
): boolean {
  if (substitutesIn(question, older.placed, newer.placed).length > 0) return true;
  if (isStatedBy(question, older.placed) !== isStatedBy(question, newer.placed)) return true;
  if (tellsOfEvent(older, tuning) && !saysChange(newer, tuning, EVENT_CHANGE_LOGIT_MIN)) return true;
  if (isExceptionOf(older.note, newer.note)) return true;
  // "The crèche raised its fee to 290" and "The judo club raised its fee to 42" are rows, although both say a change
  const isChange = saysChange(newer, tuning, CHANGE_LOGIT_MIN) && !saysChange(older, tuning, CHANGE_LOGIT_MIN);
  return !isChange && areRowsOfList(older.placed, newer.placed);
}

/** Whether a note tells of something that happened, by its vector. */
function tellsOfEvent({ note: { vector } }: ReadNote, tuning: ReplacementTuning | null): boolean {
  return tuning !== null && vector !== null && probeLogit(tuning.eventProbe, vector) >= EVENT_LOGIT_MIN;
}

/** By its words, of which not every language has a list, or by its vector. */
function saysChange(
  { changes, note: { vector } }: ReadNote,
  tuning: ReplacementTuning | null,
  logitMin: number,
): boolean {
  if (changes > 0) return true;
  return tuning !== null && vector !== null && probeLogit(tuning.changeProbe, vector) >= logitMin;
}

/**
 * The pairs without those whose newest note would replace more than `CORRECTIONS_MAX` notes, one after the other, that
 * share words with it.
 */
function withoutLists(found: readonly Replaced[], wordsOf: (note: number) => ReadonlySet<string>): readonly Replaced[] {
  const newerOf = new Map(found.map(({ older, newer }) => [older, newer]));
  // a newer note is newer in time, so this ends
  const newestOf = (note: number): number => {
    const newer = newerOf.get(note);
    return newer === undefined ? note : newestOf(newer);
  };
  const isList = ([newest, group]: readonly [number, readonly Replaced[]]) =>
    group.filter(({ older }) => !wordsOf(older).isDisjointFrom(wordsOf(newest))).length > CORRECTIONS_MAX;
  const groups = Map.groupBy(found, ({ newer }) => newestOf(newer));
  return [...groups].filter((group) => !isList(group)).flatMap(([, group]) => group);
}

/** Whether a question is a statement that a note makes: it has `STATED_MIN` words or more, and the note all of them. */
function isStatedBy(question: readonly PlacedWord[], note: readonly PlacedWord[]): boolean {
  const words = new Set(note.map(({ word }) => word));
  return question.length >= STATED_MIN && question.every(({ word }) => words.has(word));
}

/**
 * Whether a question about the past can mean the older note: that has words of it, and unless the question asks for
 * what was before something, all of its words that the newer one has.
 */
function isMeantByPast(
  { words, isEarlier }: { readonly words: ReadonlySet<string>; readonly isEarlier: boolean },
  older: ReadonlySet<string>,
  newer: ReadonlySet<string>,
): boolean {
  return !words.isDisjointFrom(older) && (isEarlier || words.intersection(newer).isSubsetOf(older));
}

function readOnce(note: ComparedNote, specifics: Specifics): () => ReadNote {
  let read: ReadNote | null = null;
  return () => {
    read ??= readNote(note, specifics);
    return read;
  };
}

/** @param specifics of the question */
export function readNote(note: ComparedNote, specifics: Specifics): ReadNote {
  return {
    note,
    words: wordsIn(note.text, note.language),
    placed: placedWords(note),
    changes: Math.min(CHANGES_MAX, changesIn(note)),
    lacking: lackingSpecifics(specifics, note.text),
  };
}

/** The signs of two notes that words and ranks give. @param now 1 if the question has a word such as "now" */
export function wordSigns(older: ReadNote, newer: ReadNote, now: number) {
  const shared = older.words.intersection(newer.words).size;
  return {
    newerRank: Math.min(RANK_MAX, (newer.note.rank ?? 1) - 1),
    sharedWords: Math.min(SHARED_MAX, shared),
    sharedShare: shared / Math.max(1, Math.min(older.words.size, newer.words.size)),
    changesInNewer: newer.changes,
    changesInOlder: older.changes,
    asksNow: now,
    newerLength: Math.min(2, [...newer.note.text].length / LENGTH_UNIT),
    lackingNames: Math.max(0, newer.lacking.names - older.lacking.names),
  };
}

function probabilityOf(older: ReadNote, newer: ReadNote, now: number, tuning: ReplacementTuning | null): number {
  const signs = wordSigns(older, newer, now);
  const { vector: before, cosine: olderCosine } = older.note;
  const { vector: after, cosine: newerCosine } = newer.note;
  if (tuning === null || before === null || after === null || olderCosine === null || newerCosine === null) {
    return regressionProbability(WORDS_ONLY, signs);
  }
  return regressionProbability(tuning.slopes, {
    ...signs,
    ...{ olderCosine, newerCosine, pairCosine: dot(before, after) },
    ...{ saysChange: probeLogit(tuning.changeProbe, after), isEvent: probeLogit(tuning.eventProbe, before) },
  });
}
