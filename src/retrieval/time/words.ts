// The content words of a text, for comparing short texts with each other: stop words are left out, and forms of a word
// count as the same word if they have the same beginning.

import { fold } from "../../kit/fold.ts";
import { stopWordsOf } from "../../words/stop-words.ts";
import { withoutDiacritics } from "./lexicon.ts";

const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });

/** Words shorter than this have no stem. In UTF-16 code units. */
const STEM_UNITS_MIN = 4;
/** Share of a word that is its stem. */
const STEM_SHARE = 0.65;

/**
 * The content words of a text as stems, in any language.
 * @param language of the text, BCP 47; the stop words of all languages are left out if it is `und`
 */
export function wordsIn(text: string, language = "und"): ReadonlySet<string> {
  const stopWords = stopWordsOf(language);
  const words = new Set<string>();
  for (const { segment, isWordLike } of segmenter.segment(fold(text))) {
    if (isWordLike && !stopWords.has(segment)) words.add(stemOf(segment));
  }
  return words;
}

/** The beginning of a word, which its forms share. Words of up to three letters, and numbers, stay as they are. */
export function stemOf(word: string): string {
  const plain = withoutDiacritics(word);
  if (plain.length < STEM_UNITS_MIN || !/^\p{L}+$/u.test(plain)) return plain;
  return plain.slice(0, Math.max(STEM_UNITS_MIN, Math.ceil(plain.length * STEM_SHARE)));
}

/** Particles of Korean behind a noun of at least two syllables. */
const KOREAN_PARTICLE = /(?<=^\p{Script=Hangul}{2,})(?:은|는|이|가|을|를|의|에|로|으로|에서)$/u;

/** A word in lower case without its possessive ending, an article before an apostrophe, or a Korean particle. */
export function bareWord(word: string): string {
  if (KOREAN_PARTICLE.test(word)) return word.replace(KOREAN_PARTICLE, "");
  return word.replace(/['’]s$/, "").replace(/^(?:qu|[cdjlmnst])['’](?=\p{L})/u, "");
}
