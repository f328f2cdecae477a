// Recognises that a note says where somebody has moved: "I moved to Leipzig last week" replaces "I live in Hamburg" for
// the question where the writer lives, although the notes share no word. Word list: data/words/moving.txt.

import moving from "../../data/words/moving.txt" with { type: "text" };
import { parseWordList } from "../words/word-lists.ts";
import { hasPhrase, phrasesOf, textBefore } from "./phrases.ts";
import { namesSomebody, subjectsOf } from "./placing.ts";
import { canLeaveWriterOut, namesRelative } from "./relatives.ts";
import type { PlacedWord } from "./substitutes.ts";
import type { TextInLanguage } from "./time/change-words.ts";

const lists = parseWordList(moving);
const LIVES = phrasesOf(lists.get("lives"));
const MOVED = phrasesOf(lists.get("moved"));
const I_MOVED = phrasesOf(lists.get("i_moved"));
const SELF = phrasesOf(lists.get("self"));
/** A year: "We moved to Hamburg in 2014" says what was. */
const YEAR = /(?<!\d)(?:19|20)\d\d(?!\d)/;
/** Japanese and Korean words that say who did something, and Chinese words that only say when. */
const SUBJECT = /[はが]|(?:은|는|이|가)(?=\s)/u;
const WHEN_CHINESE = /^[上这這本刚剛昨今前最近个個月周週天日年初底了已经經，、\s]*$/u;
const CHINESE = /^\p{Script=Han}[^\p{Script=Hiragana}]*$/u;

/** What a question asks for that asks where somebody lives: themselves if it names nobody. Null for other questions. */
export interface Dweller {
  readonly isWriter: boolean;
  /** The words that name them. */
  readonly names: readonly PlacedWord[];
}

/** Who a question asks for that asks where somebody lives; null if it asks for something else. */
export function askedDweller({ text, language }: TextInLanguage, words: readonly PlacedWord[]): Dweller | null {
  if (!hasPhrase(LIVES, text)) return null;
  const names = subjectsOf(words, language).filter(({ word }) => !hasPhrase(LIVES, word) && !hasPhrase(SELF, word));
  return { isWriter: names.length === 0 && !namesSomebody(text, language), names };
}

/** Whether a note says where the asked one lives. */
export function saysLives(note: string, { isWriter, names }: Dweller, words: readonly PlacedWord[]): boolean {
  if (!hasPhrase(LIVES, note)) return false;
  return isWriter ? !namesRelative(note) : areNamed(names, words);
}

/**
 * Whether a note says that the asked one has moved: the writer, if the question names nobody, or else somebody whom
 * both notes name.
 */
export function saysMoved(note: string, { isWriter, names }: Dweller, words: readonly PlacedWord[]): boolean {
  if (YEAR.test(note)) return false;
  if (!isWriter) return areNamed(names, words) && hasPhrase(MOVED, note);
  if (namesRelative(note)) return false;
  if (hasPhrase(I_MOVED, note)) return true;
  const before = textBefore(MOVED, note);
  if (before === null) return false;
  if (hasPhrase(SELF, note) || before.trim() === "") return true;
  if (CHINESE.test(note)) return WHEN_CHINESE.test(before);
  return canLeaveWriterOut(note) && !SUBJECT.test(before);
}

function areNamed(names: readonly PlacedWord[], words: readonly PlacedWord[]): boolean {
  return names.some((name) => words.some(({ stem }) => stem === name.stem));
}
