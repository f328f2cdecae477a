// Extracts tags: a few key phrases that say what a memory is about. Candidates are runs of words between stop words,
// ranked by frequency and position, after RAKE (Rose et al. 2010) and YAKE (Campos et al. 2020), with the statistics of
// a single text. tag-words.ts splits texts into words, weighs phrases by language and recognises duplicates.

import { EXTRACTED_TAGS_MAX } from "../domain/extraction.ts";
import { stopWordsOf, topiclessWordsOf } from "../words/stop-words.ts";
import {
  areDuplicates,
  type Phrase,
  type StemmedPhrase,
  stemPhrase,
  topicWeightOf,
  UNSPACED,
  wordsOf,
} from "./tag-words.ts";

/** Number of UTF-16 code units at the beginning of a text that are read: its topic is stated there. */
const SAMPLE_UNITS = 24_576;
/** Maximum number of words in a phrase that is not a name. */
const PHRASE_WORDS_MAX = 3;
/** Maximum number of words in a name, including particles: "World Health Organization Regional Office". */
const NAME_WORDS_MAX = 5;
/** Maximum length of a tag, in UTF-16 code units. Longer strings are identifiers or not words at all. */
const TAG_UNITS_MAX = 48;
/** In a text of at least this many words, a phrase must occur twice to be a tag: a long text repeats what matters. */
const LONG_TEXT_WORDS = 400;

/**
 * Up to 8 key phrases of a text, best first, in lower case, without duplicates. Empty if no phrase stands out. Takes
 * about 0.3 ms for 1.4 KB, at most 6 ms.
 * @param language BCP 47 tag; selects the stop words and the rules that recognise topics.
 */
export function extractTags(content: string, language: string): string[] {
  const sample = content.slice(0, SAMPLE_UNITS).toWellFormed();
  const isUnspaced = UNSPACED.test(sample.slice(0, 2_048));
  const words = wordsOf(sample, language, isUnspaced);
  return bestTags(phrasesOf(words, language, isUnspaced), words.length, language, isUnspaced);
}

interface RunWord {
  readonly word: string;
  /** Whether the word belongs to a name: it has a capital letter and is not at the beginning of a sentence. */
  readonly isNamed: boolean;
  /** Whether the word can be part of a name but not a topic alone: "six" in "Six Flags". */
  readonly isWeak: boolean;
  /** Whether the word can only be inside a name: "de" in "Charles de Gaulle". */
  readonly isParticle: boolean;
  readonly position: number;
}

/** Small words that may be inside a name. */
const NAME_PARTICLE = /^(?:de|del|della|di|da|do|dos|das|du|des|la|le|van|von|der|den|zu|af|av|ibn|bin|al|el|y|of)$/;
/** Stop words that may begin a name. */
const NAME_BEGINNING = /^(?:new|old|big|first|second|last)$/;

/**
 * Finds all phrases of up to three words, and names of up to five words, that contain no punctuation and, except for
 * small words in names, no stop word.
 */
function phrasesOf(words: readonly string[], language: string, isUnspaced: boolean): Phrase[] {
  const topicless = topiclessWordsOf(language);
  const stopWords = stopWordsOf(language);
  const phrases = new Map<string, Phrase>();
  let run: RunWord[] = [];
  let startsSentence = true;
  let nextIsCapital = CAPITAL.test(words[0] ?? "");
  for (const [position, written] of words.entries()) {
    const word = written.toLowerCase().replaceAll("’", "'").replace(/'s$/, "");
    const isCapital = nextIsCapital;
    nextIsCapital = CAPITAL.test(words[position + 1] ?? "");
    const followsName = run.at(-1)?.isNamed === true;
    const isParticle = followsName && nextIsCapital && NAME_PARTICLE.test(word);
    const isTopic = isTopical(word, topicless, isUnspaced);
    const isWeak =
      !isTopic &&
      isCapital &&
      (followsName || nextIsCapital) &&
      /^\p{Lu}\p{Ll}/u.test(written) &&
      (!stopWords.has(word) || NAME_BEGINNING.test(word));
    if (!isTopic && !isParticle && !isWeak) {
      countPhrases(run, phrases);
      run = [];
      startsSentence = /^[.!?。！？\n]/.test(written) || (startsSentence && !/[\p{L}\p{N}]/u.test(written));
      continue;
    }
    // The first word of a sentence has a capital letter in any case, but two capitalised words in a row are a name.
    const isNamed = isParticle || (isCapital && (!startsSentence || nextIsCapital));
    run.push({ word, isNamed, isWeak, isParticle, position });
    startsSentence = false;
  }
  countPhrases(run, phrases);
  return [...phrases.values()];
}

const CAPITAL = /^\p{Lu}\p{L}/u;

function isTopical(word: string, topicless: ReadonlySet<string>, isUnspaced: boolean): boolean {
  if (!/\p{L}/u.test(word) || topicless.has(word)) return false;
  if (!isUnspaced || !UNSPACED.test(word))
    return word.length >= 3 || /^[a-z]\d$|^(?:ai|ml|ui|ux|hr|pr|qa|db|os|vr|ar|pc|tv|eu|uk|us|un)$/.test(word);
  // Japanese words of hiragana only are function words, and a single character is too short for a topic.
  return word.length >= 2 && !/^\p{Script=Hiragana}+$/u.test(word);
}

/**
 * Counts the phrases and names in a run of words between stop words. A name is complete, whatever words are next to it.
 */
function countPhrases(run: readonly RunWord[], phrases: Map<string, Phrase>): void {
  let nameStart = 0;
  for (const [at, { isNamed }] of run.entries()) {
    for (let from = at; from >= 0 && from > at - PHRASE_WORDS_MAX; from--) {
      countPhrase(run, from, at + 1, phrases, from === 0 && at === run.length - 1);
    }
    if (!isNamed) nameStart = at + 1;
    const nameLength = at + 1 - nameStart;
    if (nameLength < 2 || nameLength > NAME_WORDS_MAX || run[at + 1]?.isNamed === true) continue;
    if (nameLength > PHRASE_WORDS_MAX) countPhrase(run, nameStart, at + 1, phrases, true);
    else {
      const phrase = phrases.get(textOf(run, nameStart, at + 1));
      if (phrase !== undefined) phrase.completeCount++;
    }
  }
}

function textOf(run: readonly RunWord[], start: number, end: number): string {
  let text = run[start]?.word ?? "";
  if (end - start === 1) return text;
  const separator = UNSPACED.test(run[end - 1]?.word ?? "") ? "" : " ";
  for (let at = start + 1; at < end; at++) text += separator + (run[at]?.word ?? "");
  return text;
}

function countPhrase(
  run: readonly RunWord[],
  start: number,
  end: number,
  phrases: Map<string, Phrase>,
  isComplete: boolean,
): void {
  const [first, last] = [run[start], run[end - 1]];
  if (first === undefined || last === undefined || first.isParticle || last.isParticle) return;
  if (end - start === 1 && first.isWeak) return;
  const text = textOf(run, start, end);
  if (text.length > TAG_UNITS_MAX) return;
  let phrase = phrases.get(text);
  if (phrase === undefined) {
    const words = run.slice(start, end).map(({ word }) => word);
    phrase = { text, words, count: 0, completeCount: 0, nameCount: 0, firstPosition: first.position };
    phrases.set(text, phrase);
  }
  phrase.count++;
  if (isComplete) phrase.completeCount++;
  let isNamed = true;
  for (let at = start; at < end && isNamed; at++) isNamed = run[at]?.isNamed === true;
  if (isNamed) phrase.nameCount++;
}

/** Scores the phrases and returns the best ones without duplicates. */
function bestTags(phrases: Phrase[], wordCount: number, language: string, isUnspaced: boolean): string[] {
  const isLong = wordCount >= LONG_TEXT_WORDS;
  const countOf = new Map(phrases.filter(({ words }) => words.length === 1).map(({ text, count }) => [text, count]));
  // A phrase of several words that occurs only once must be complete. Otherwise it may start or end in the middle of an
  // expression.
  const eligible = phrases.filter(
    ({ count, completeCount, words }) => count >= 2 || (!isLong && (words.length === 1 || completeCount > 0)),
  );
  const fragments = fragmentsAmong(eligible);
  const weightOf = topicWeightOf(phrases, language);
  const scored = eligible
    .filter(({ text }) => !fragments.has(text))
    .map((phrase) => ({ phrase, score: weightOf(phrase) * scoreOf(phrase, countOf, wordCount, isUnspaced) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.phrase.firstPosition - b.phrase.firstPosition);

  const tags: StemmedPhrase[] = [];
  for (const { phrase } of scored) {
    const stemmed = stemPhrase(phrase);
    if (!tags.some((tag) => areDuplicates(tag, stemmed))) tags.push(stemmed);
    if (tags.length === EXTRACTED_TAGS_MAX) break;
  }
  return tags.map(({ text }) => text);
}

/** Phrases that occur only inside a longer phrase: "cerebral white" in "cerebral white matter". */
function fragmentsAmong(phrases: readonly Phrase[]): Set<string> {
  const countOf = new Map(phrases.map(({ text, count }) => [text, count]));
  const fragments = new Set<string>();
  for (const { text, words, count } of phrases) {
    if (words.length === 1) continue;
    const separator = text.includes(" ") ? " " : "";
    for (const part of [words.slice(1), words.slice(0, -1)]) {
      const fragment = part.join(separator);
      if ((countOf.get(fragment) ?? 0) <= count) fragments.add(fragment);
    }
  }
  return fragments;
}

/**
 * Score of a phrase: its frequency, raised if its words nearly always occur together, if it is a name, if its words are
 * long, and if it occurs early.
 */
function scoreOf(phrase: Phrase, countOf: ReadonlyMap<string, number>, wordCount: number, isUnspaced: boolean): number {
  const { count, words, nameCount, firstPosition, text } = phrase;
  const rarest = Math.min(...words.map((word) => countOf.get(word) ?? count));
  const size = Math.min(words.length, PHRASE_WORDS_MAX);
  const cohesion = size === 1 ? 1 : (1 + 0.6 * (size - 1)) * (count / Math.max(count, rarest)) ** 0.5;
  const earliness = 1 + 0.5 / (1 + (8 * firstPosition) / Math.max(1, wordCount));
  const nameFactor = nameCount * 2 >= count ? 1.4 : 1;
  const lengthFactor = isUnspaced ? 1 : Math.min(1, 0.4 + text.length / (12 * words.length));
  return count ** 0.8 * cohesion * earliness * nameFactor * lengthFactor;
}
