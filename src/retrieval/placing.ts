// Recognises that a note says where something was put: "I put the passports into the safe" replaces what was said of
// their place before. Word list: data/words/placing.txt.

import placing from "../../data/words/placing.txt" with { type: "text" };
import { hasStopWords } from "../words/stop-words.ts";
import { parseWordList } from "../words/word-lists.ts";
import { hasPhrase, phrasesOf } from "./phrases.ts";
import type { PlacedWord } from "./substitutes.ts";
import type { TextInLanguage } from "./time/change-words.ts";
import { withoutDiacritics } from "./time/lexicon.ts";

/** Minimum length of a word that counts in languages without stop words: shorter ones are articles and such. */
const THING_UNITS_MIN = 4;
/** A capitalised word that is not the first one. */
const NAME = /[^\s.!?¿¡] +\p{Lu}\p{Ll}/u;
/** Two forms of a word share a beginning of at least this length, and differ in an ending of at most this one. */
const [STEM_UNITS_MIN, ENDING_UNITS_MAX] = [4, 3];
/** Korean endings and Japanese particles of a place, and endings of Chinese verbs before it. */
const [INTO_ENDING, INTO_PARTICLE, INTO_VERB] = [/\p{Script=Hangul}(?:에|로|으로)$/u, /^(?:に|へ)$/, /[到在进進]$/u];
const CASED = /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}]/u;

const lists = parseWordList(placing);
const WHERE = phrasesOf(lists.get("where"));
const PLACED = phrasesOf(lists.get("placed"));
/** Prepositions before a place. */
const INTO = phrasesOf(lists.get("into"));

/** The words of questions for places, one by one, and verbs such as "lies". */
const WHERE_PARTS: ReadonlySet<string> = new Set(
  [...(lists.get("where") ?? []), ...(lists.get("being") ?? [])]
    .flatMap((word) => word.split("_"))
    .map(withoutDiacritics),
);

/**
 * The things whose place a question asks for: its words that have a meaning. None if it asks for something else, or
 * names somebody: "I gave Anna the book" does not say where Anna is.
 */
export function placedThings({ text, language }: TextInLanguage, words: readonly PlacedWord[]): readonly PlacedWord[] {
  if (!hasPhrase(WHERE, text) || namesSomebody(text, language)) return [];
  return subjectsOf(words, language);
}

/** Whether a question names somebody or something: in German, all nouns have a capital letter. */
export function namesSomebody(text: string, language: string): boolean {
  return language !== "de" && NAME.test(text);
}

/** What a question for a place is about: its words that have a meaning, but for "where" and such verbs as "lies". */
export function subjectsOf(words: readonly PlacedWord[], language: string): readonly PlacedWord[] {
  const knowsSmallWords = hasStopWords(language);
  return words.filter(
    ({ word, hasMeaning }) =>
      hasMeaning &&
      !WHERE_PARTS.has(withoutDiacritics(word)) &&
      !hasPhrase(WHERE, word) &&
      (knowsSmallWords || isLong(word)),
  );
}

/** Whether a note says where something was put. */
export function saysPlaced(note: string): boolean {
  return hasPhrase(PLACED, note);
}

/** Whether both notes are about all of the things, and the newer one, which `saysPlaced`, says where they were put. */
export function isPutElsewhere(
  things: readonly PlacedWord[],
  older: readonly PlacedWord[],
  newer: readonly PlacedWord[],
): boolean {
  const isThing = (word: PlacedWord) => things.some((thing) => areForms(thing, word));
  const areIn = (note: readonly PlacedWord[]) => things.every((thing) => note.some((word) => areForms(thing, word)));
  return things.length > 0 && areIn(older) && areIn(newer) && isObject(newer, isThing);
}

/** Whether the things are what was put, and not the place: "I left my jacket at the office" moves no office. */
function isObject(words: readonly PlacedWord[], isThing: (word: PlacedWord) => boolean): boolean {
  const first = words.findIndex(isThing);
  const last = words.findLastIndex(isThing);
  const before = words.slice(0, first);
  // a sentence begins with the English "I", not with the Danish "i" (in)
  const small = before.slice(before.findLastIndex(({ hasMeaning }) => hasMeaning) + 1);
  if (small.some(({ word, isStart }) => !isStart && INTO.single.has(withoutDiacritics(word)))) return false;
  if (INTO_VERB.test(words[first - 1]?.word ?? "")) return false;
  if (INTO_ENDING.test(words[last]?.word ?? "") || INTO_PARTICLE.test(words[last + 1]?.word ?? "")) return false;
  return words.slice(last + 1).some(({ word, hasMeaning }) => hasMeaning && !saysPlaced(word));
}

function isLong(word: string): boolean {
  return !CASED.test(word) || word.length >= THING_UNITS_MIN;
}

function areForms(left: PlacedWord, right: PlacedWord): boolean {
  if (left.stem === right.stem) return true;
  let shared = 0;
  while (shared < left.word.length && left.word[shared] === right.word[shared]) shared += 1;
  const rest = Math.max(left.word.length, right.word.length) - shared;
  return shared >= STEM_UNITS_MIN && rest <= ENDING_UNITS_MAX;
}
