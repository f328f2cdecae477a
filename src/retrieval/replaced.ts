// Decides which notes a newer one has probably replaced as the answer to a question: "Sold the Berlingo. Got a green
// Caddy" replaces "We drive a Berlingo". Stored relations cover corrections in the same words (current-first.ts). Here
// the question helps to recognise corrections in other words, because both notes answer it. Pure functions; about 3 ms
// for twenty notes.

import { type Dated, isNewer } from "../domain/relation.ts";
import {
  EVENT_LOGIT_MIN,
  REPLACEMENT_SIGNS,
  type ReplacementTuning,
  type SignName,
  type SignNetwork,
} from "../domain/retrieval-tuning.ts";
import { differenceLogit, dot, probeLogit } from "../kit/dot.ts";
import { probabilityOf as probabilityOfLogit, regressionProbability } from "../kit/logistic.ts";
import { areRowsOfList } from "./list-rows.ts";
import { askedDweller, saysLives, saysMoved } from "./moving.ts";
import { isPutElsewhere, placedThings, saysPlaced } from "./placing.ts";
import { areOfOtherRelatives } from "./relatives.ts";
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

/** A note, and the newer one that has probably replaced it, as indices of the list of notes. */
export interface Replaced {
  readonly older: number;
  readonly newer: number;
}

/** Minimum probability of being replaced. */
const REPLACED_MIN = 0.5;
/** A question about the past may mean an older note of at most this rank. */
const PAST_RANK_MAX = 3;
/**
 * Maximum number of corrections of one fact. If more notes are this similar, they are entries of a list, such as the
 * rows of a timetable, and all of them are valid.
 */
const CORRECTIONS_MAX = 3;
/** Minimum logit of the change probe (a linear probe on vectors) at which a note says that something has changed. */
const CHANGE_LOGIT_MIN = 0.2;
/**
 * Minimum logit for a note that replaces one about an event. It is higher, because most events stay true: what was
 * bought can be sold, but what was paid stays paid.
 */
const EVENT_CHANGE_LOGIT_MIN = 0.5;
/** Minimum number of words of a question that states something. Fewer words are a name or keywords. */
const STATED_MIN = 4;
/** Ranks above this one count as this one. */
const RANK_MAX = 10;
/** Maximum number of shared words that counts. More say nothing. */
const SHARED_MAX = 3;
/** Maximum number of words of change that counts. */
const CHANGES_MAX = 2;
/** Length in characters that counts as 1. At most twice this length counts. */
const LENGTH_UNIT = 80;

/**
 * Weights of the signs that words and ranks give, for models without a `ReplacementTuning`. They were fitted in the
 * same way.
 */
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

/** A note with everything that is computed once for it. */
export interface ReadNote {
  readonly note: ComparedNote;
  readonly words: ReadonlySet<string>;
  readonly placed: readonly PlacedWord[];
  readonly changes: number;
  /** Shares of the numbers, codes and names of the question that the note lacks. */
  readonly lacking: LackingSpecifics;
}

/** A question with everything that is computed once for it. */
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
    ...{ text, words: wordsIn(text.text, text.language), placed },
    now: asksNow(text) ? 1 : 0,
    isPast: askedTense(text.text, text.language) === "past",
    isEarlier: asksEarlierState(text.text, text.language),
  };
}

/**
 * For each note that a newer one of the same owner has probably replaced, the newer one that replaces it most probably.
 * Notes about similar things (`areNeighbours`) replace nothing, and neither does a note that lacks a number of the
 * question if the older one has it.
 */
export function replacedAmong(
  asked: ReadQuestion,
  notes: readonly (ComparedNote | null)[],
  tuning: ReplacementTuning | null,
): readonly Replaced[] {
  const specifics = specificsOf(asked.text.text, asked.text.language);
  const reads = notes.map((note) => (note === null ? null : readOnce(note, specifics)));
  const things = placedThings(asked.text, asked.placed);
  const dweller = askedDweller(asked.text, asked.placed);
  const haveMoved = reads.map((read) => {
    const note = dweller === null ? undefined : read?.();
    return dweller !== null && note !== undefined && saysMoved(note.note.text, dweller, note.placed);
  });
  const arePlaced = things.length === 0 ? [] : notes.map((note) => note !== null && saysPlaced(note.text));
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
      const isElsewhere =
        (arePlaced[newer] === true && isPutElsewhere(things, own.placed, other.placed)) ||
        (dweller !== null && haveMoved[newer] === true && saysLives(before.text, dweller, own.placed));
      const probability = isElsewhere ? 1 : probabilityOf(own, other, asked.now, tuning);
      if (probability < best.probability) continue;
      if (areNeighbours(asked, own, other, tuning)) continue;
      best = { newer, probability };
    }
    if (best.newer !== -1) found.push({ older, newer: best.newer });
  }
  return withoutLists(found, (note) => reads[note]?.().words ?? new Set());
}

/**
 * Difference of the cosines, if the newer note is more similar to the question; otherwise 0. Also 0 if one vector is
 * unknown.
 */
function cosineGap({ cosine: older }: ComparedNote, { cosine: newer }: ComparedNote): number {
  return older === null || newer === null ? 0 : Math.max(0, newer - older);
}

/**
 * Whether two notes are about two similar things, so that both are valid. This is so if the newer note is about another
 * relative ("my mother"), or has another word in the place of a word of the question; if only one of them contains what
 * the question states; if the newer one is about one occasion of a weekly event; or if the newer one does not say that
 * something has changed, and the older one is about an event, such as a payment, or both are rows of a list.
 */
export function areNeighbours(
  { text, placed: question }: Pick<ReadQuestion, "text" | "placed">,
  older: ReadNote,
  newer: ReadNote,
  tuning: ReplacementTuning | null,
): boolean {
  if (areOfOtherRelatives(text.text, older.note.text, newer.note.text)) return true;
  if (substitutesIn(question, older.placed, newer.placed).length > 0) return true;
  if (isStatedBy(question, older.placed) !== isStatedBy(question, newer.placed)) return true;
  if (tellsOfEvent(older, tuning) && !saysChange(newer, tuning, EVENT_CHANGE_LOGIT_MIN)) return true;
  if (isExceptionOf(older.note, newer.note)) return true;
  // "The crèche raised its fee to 290" and "The judo club raised its fee to 42" are rows, although both say a change
  const isChange = saysChange(newer, tuning, CHANGE_LOGIT_MIN) && !saysChange(older, tuning, CHANGE_LOGIT_MIN);
  return !isChange && areRowsOfList(older.placed, newer.placed);
}

/** Whether a note is about an event, by its vector. */
function tellsOfEvent({ note: { vector } }: ReadNote, tuning: ReplacementTuning | null): boolean {
  return tuning !== null && vector !== null && probeLogit(tuning.eventProbe, vector) >= EVENT_LOGIT_MIN;
}

/**
 * Whether a note says that something has changed: by its words, or by its vector, because not every language has a list
 * of such words.
 */
function saysChange(
  { changes, note: { vector } }: ReadNote,
  tuning: ReplacementTuning | null,
  logitMin: number,
): boolean {
  if (changes > 0) return true;
  return tuning !== null && vector !== null && probeLogit(tuning.changeProbe, vector) >= logitMin;
}

/**
 * Leaves out pairs whose newest note would replace, directly or through others, more than `CORRECTIONS_MAX` notes that
 * share words with it.
 */
function withoutLists(found: readonly Replaced[], wordsOf: (note: number) => ReadonlySet<string>): readonly Replaced[] {
  const newerOf = new Map(found.map(({ older, newer }) => [older, newer]));
  // ends, because each step leads to a note that is newer in time
  const newestOf = (note: number): number => {
    const newer = newerOf.get(note);
    return newer === undefined ? note : newestOf(newer);
  };
  const isList = ([newest, group]: readonly [number, readonly Replaced[]]) =>
    group.filter(({ older }) => !wordsOf(older).isDisjointFrom(wordsOf(newest))).length > CORRECTIONS_MAX;
  const groups = Map.groupBy(found, ({ newer }) => newestOf(newer));
  return [...groups].filter((group) => !isList(group)).flatMap(([, group]) => group);
}

/** Whether a note contains all words of a question that has at least `STATED_MIN` words. */
function isStatedBy(question: readonly PlacedWord[], note: readonly PlacedWord[]): boolean {
  const words = new Set(note.map(({ word }) => word));
  return question.length >= STATED_MIN && question.every(({ word }) => words.has(word));
}

/**
 * Whether a question about the past can mean the older note. The note must have words of the question. Unless the
 * question asks for the state before something, it must have all words of the question that the newer note has.
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
  const all = {
    ...signs,
    ...{ olderCosine, newerCosine, pairCosine: dot(before, after) },
    ...{ saysChange: probeLogit(tuning.changeProbe, after), isEvent: probeLogit(tuning.eventProbe, before) },
    isReplaced: tuning.replacedProbe === null ? 0 : differenceLogit(tuning.replacedProbe, after, before),
  };
  const { weights } = tuning;
  return "units" in weights ? networkProbability(weights, all) : regressionProbability(weights.slopes, all);
}

function networkProbability({ units, bias }: SignNetwork, signs: Readonly<Record<SignName, number>>): number {
  const values = REPLACEMENT_SIGNS.map((name) => signs[name]);
  let logit = bias;
  for (const unit of units) {
    const sum = values.reduce((total, value, at) => total + value * (unit.weights[at] ?? 0), unit.bias);
    logit += unit.output * Math.max(0, sum);
  }
  return probabilityOfLogit(logit);
}
