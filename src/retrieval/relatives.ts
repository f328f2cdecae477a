// Recognises that a note is about somebody else than another one: what "my mother" has bought says nothing of what "my
// father" drives. Word list: data/words/relatives.txt.

import relatives from "../../data/words/relatives.txt" with { type: "text" };
import { fold } from "../kit/fold.ts";
import { parseWordList } from "../words/word-lists.ts";
import { hasPhrase, phrasesOf } from "./phrases.ts";
import { withoutDiacritics } from "./time/lexicon.ts";

/** A relative in a text. */
interface Relative {
  /** What they are to the writer, such as "father": a section of the word list. */
  readonly kind: string;
  /** Whether it is among the first words of the text. */
  readonly isFirst: boolean;
}

/** Longer texts are read up to here, in UTF-16 code units. */
const TEXT_UNITS_MAX = 1_000;
/** A note whose first words name a relative is about them: "My uncle has moved". */
const FIRST_WORDS = 3;
const UNSPACED = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}]/u;
/** Languages that leave "I" out: a note that names nobody is about its writer, as 마포구로 이사했다. */
const LEAVES_WRITER_OUT = /[\p{Script=Hangul}\p{Script=Hiragana}]/u;
/** "I" in an English text; Danish and Norwegian begin sentences with it, too ("in"). */
const ENGLISH_I = /\bI\b/;
const ENGLISH = /\b(?:the|a|an|my|with|now|was|am|from|last|this)\b/i;
const WORD = /[\p{L}\p{M}\p{Nd}'’-]+/gu;
/** Particles of Korean behind a noun. */
const KOREAN_PARTICLE = /(?<=\p{Script=Hangul})(?:은|는|이|가|을|를|의|에게|에서|에|도|와|과|네)$/u;

const lists = parseWordList(relatives);
/** Words for "I" and "we", which are no relatives. */
const WRITER = phrasesOf(lists.get("writer"));
const kinds = [...lists]
  .filter(([kind]) => kind !== "writer")
  .map(([kind, words]) => {
    const spaced = words.filter((word) => !UNSPACED.test(word)).map((word) => word.replaceAll("_", " "));
    return {
      kind,
      whole: new Set(spaced.filter((word) => !word.endsWith("*"))),
      beginnings: spaced.filter((word) => word.endsWith("*")).map((word) => word.slice(0, -1)),
      unspaced: words.filter((word) => UNSPACED.test(word)),
    };
  });
/** Words of texts without spaces, longest first: 祖父 is no 父. */
const unspacedWords = kinds
  .flatMap(({ kind, unspaced }) => unspaced.map((word) => ({ kind, word })))
  .sort((left, right) => right.word.length - left.word.length);

/** The relatives that a text names. */
function relativesIn(text: string): readonly Relative[] {
  const plain = withoutDiacritics(fold(text.slice(0, TEXT_UNITS_MAX)));
  return UNSPACED.test(plain) ? [...inWords(plain), ...inCharacters(plain)] : inWords(plain);
}

function inWords(text: string): readonly Relative[] {
  const words = Array.from(text.matchAll(WORD), ([word]) => word.replace(KOREAN_PARTICLE, ""));
  return words.flatMap((word, at) => {
    const pair = at === 0 ? "" : `${words[at - 1]} ${word}`;
    const found = kinds.find(
      ({ whole, beginnings }) =>
        whole.has(word) || whole.has(pair) || beginnings.some((beginning) => word.startsWith(beginning)),
    );
    return found === undefined ? [] : [{ kind: found.kind, isFirst: at < FIRST_WORDS }];
  });
}

function inCharacters(text: string): readonly Relative[] {
  const found: Relative[] = [];
  for (let at = 0; at < text.length; ) {
    const relative = unspacedWords.find(({ word }) => text.startsWith(word, at));
    if (relative !== undefined) found.push({ kind: relative.kind, isFirst: at === 0 });
    at += relative?.word.length ?? 1;
  }
  return found;
}

/**
 * Whether `newer` is about other relatives than `older`, which is about those of the question: it names none of the
 * question's, and either one that `older` does not name, or nobody but its writer. If neither the question nor `older`
 * names one, whether `newer` begins with one.
 */
export function areOfOtherRelatives(question: string, older: string, newer: string): boolean {
  const [asked, before] = [kindsOf(relativesIn(question)), kindsOf(relativesIn(older))];
  const named = relativesIn(newer);
  const after = kindsOf(named);
  if (asked.size === 0) return before.size === 0 && named.some(({ isFirst }) => isFirst);
  if (asked.isDisjointFrom(before) || !asked.isDisjointFrom(after)) return false;
  return after.size === 0 ? canLeaveWriterOut(newer) || namesWriter(newer) : !after.isSubsetOf(before);
}

/** Whether a text is in a language that leaves "I" out, so that a note that names nobody is about its writer. */
export function canLeaveWriterOut(text: string): boolean {
  return LEAVES_WRITER_OUT.test(text);
}

/** Whether a text names a relative. */
export function namesRelative(text: string): boolean {
  return relativesIn(text).length > 0;
}

/** Whether a text has a word for "I" or "we". */
function namesWriter(text: string): boolean {
  return (ENGLISH_I.test(text) && ENGLISH.test(text)) || hasPhrase(WRITER, text);
}

function kindsOf(relatives: readonly Relative[]): ReadonlySet<string> {
  return new Set(relatives.map(({ kind }) => kind));
}
