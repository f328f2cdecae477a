// What a memory is about, as a few key phrases: runs of words between stop words, ranked by how often and how early they
// come (after RAKE, Rose et al. 2010, and YAKE, Campos et al. 2020, in what a single text can tell).

import { stopWordsOf } from "./stop-words.ts";

/** Most tags that are made for a memory. */
export const EXTRACTED_TAGS_MAX = 8;

/** Units at a text's beginning that are looked at: what it is about is said there. */
const SAMPLE_UNITS = 24_576;
/** Longest phrase. */
const PHRASE_WORDS_MAX = 3;
/** Longest tag in UTF-16 units: more is an identifier or no word at all. */
const TAG_UNITS_MAX = 48;
/** From this many words on, a phrase must come twice: in a long text nothing that matters is said once. */
const LONG_TEXT_WORDS = 400;

/** Scripts written without spaces: words come from the segmenter. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
/** Words, and between them what ends a phrase. An apostrophe or hyphen inside belongs to the word. */
const WORD_OR_BREAK =
  /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:['’_-][\p{L}\p{N}][\p{L}\p{M}\p{N}]*)*|[^\p{L}\p{N}\s]|\n\s*\n/gu;
const NOISE = /https?:\/\/\S+|\bwww\.\S+|\S+@\S+\.\S+|```[^\n]*|<[^<>\n]{1,200}>/g;

interface Phrase {
  readonly text: string;
  readonly words: readonly string[];
  count: number;
  /** How many times it stood with capitals, apart from the beginnings of sentences. */
  named: number;
  /** Position of its first word among the text's words. */
  readonly first: number;
}

const wordSegmenter = new Intl.Segmenter(undefined, { granularity: "word" });

/**
 * Up to 8 key phrases of a text, best first, in lower case, none within another. Empty when nothing stands out.
 * @param language BCP 47, chooses the stop words.
 */
export function extractTags(content: string, language: string): string[] {
  const sample = content.slice(0, SAMPLE_UNITS).toWellFormed().replace(NOISE, " . ");
  const isUnspaced = UNSPACED.test(sample.slice(0, 2_048));
  const words = isUnspaced ? segmentedWords(sample) : (sample.match(WORD_OR_BREAK) ?? []);
  return best(phrasesOf(words, stopWordsOf(language), isUnspaced), words.length, isUnspaced);
}

/** Words by the segmenter; whatever lies between two of them other than a space is a break. */
function segmentedWords(sample: string): string[] {
  const words: string[] = [];
  for (const { segment } of wordSegmenter.segment(sample)) if (segment !== " ") words.push(segment);
  return words;
}

/** Words, and pairs and triples of neighbours that no stop word or sign parts. */
function phrasesOf(words: readonly string[], stopWords: ReadonlySet<string>, isUnspaced: boolean): Phrase[] {
  const phrases = new Map<string, Phrase>();
  let run: { word: string; isNamed: boolean }[] = [];
  let startsSentence = true;
  for (let position = 0; position < words.length; position++) {
    const written = words[position] ?? "";
    const word = written.toLowerCase().replaceAll("’", "'").replace(/'s$/, "");
    if (!isTopical(word, stopWords, isUnspaced)) {
      run = [];
      startsSentence = /^[.!?。！？\n]/.test(written) || (startsSentence && !/[\p{L}\p{N}]/u.test(written));
      continue;
    }
    run.push({ word, isNamed: !startsSentence && /^\p{Lu}/u.test(written) });
    if (run.length > PHRASE_WORDS_MAX) run.shift();
    startsSentence = false;
    for (let from = run.length - 1; from >= 0; from--) {
      const part = run.slice(from);
      const text = part.map((each) => each.word).join(isUnspaced && UNSPACED.test(word) ? "" : " ");
      if (text.length > TAG_UNITS_MAX) break;
      let phrase = phrases.get(text);
      if (phrase === undefined) {
        phrase = { text, words: part.map((each) => each.word), count: 0, named: 0, first: position };
        phrases.set(text, phrase);
      }
      phrase.count++;
      if (part.every((each) => each.isNamed)) phrase.named++;
    }
  }
  return [...phrases.values()];
}

function isTopical(word: string, stopWords: ReadonlySet<string>, isUnspaced: boolean): boolean {
  if (!/\p{L}/u.test(word) || stopWords.has(word)) return false;
  if (!isUnspaced || !UNSPACED.test(word))
    return word.length >= 3 || /^[a-z]\d$|^(?:ai|ml|ui|ux|hr|pr|qa|db|os|vr|ar|pc|tv|eu|uk|us|un)$/.test(word);
  // Hiragana alone is grammar; one character alone says too little.
  return word.length >= 2 && !/^\p{Script=Hiragana}+$/u.test(word);
}

/** Scores the phrases and takes the best that do not say the same. */
function best(phrases: Phrase[], wordCount: number, isUnspaced: boolean): string[] {
  const isLong = wordCount >= LONG_TEXT_WORDS;
  const countOf = new Map(phrases.filter(({ words }) => words.length === 1).map(({ text, count }) => [text, count]));
  const eligible = phrases.filter(
    ({ count, words, named }) => count >= 2 || (!isLong && (words.length <= 2 || named > 0)),
  );
  const fragments = fragmentsAmong(eligible);
  const scored = eligible
    .filter(({ text }) => !fragments.has(text))
    .map((phrase) => ({ phrase, score: scoreOf(phrase, countOf, wordCount, isUnspaced) }))
    .sort((a, b) => b.score - a.score || a.phrase.first - b.phrase.first);

  const tags: { text: string; stems: readonly string[] }[] = [];
  for (const { phrase } of scored) {
    const stems = phrase.words.map(roughStem);
    const saysTheSame = tags.some((tag) => isWithin(tag.stems, stems) || isWithin(stems, tag.stems));
    if (!saysTheSame) tags.push({ text: phrase.text, stems });
    if (tags.length === EXTRACTED_TAGS_MAX) break;
  }
  return tags.map(({ text }) => text);
}

/** Phrases that only ever come within a longer one: "cerebral white" of "cerebral white matter". */
function fragmentsAmong(phrases: readonly Phrase[]): Set<string> {
  const countOf = new Map(phrases.map(({ text, count }) => [text, count]));
  const fragments = new Set<string>();
  for (const { words, count } of phrases) {
    if (words.length === 1) continue;
    for (const part of [words.slice(1), words.slice(0, -1)]) {
      const text = part.join(" ");
      if ((countOf.get(text) ?? 0) <= count) fragments.add(text);
    }
  }
  return fragments;
}

/**
 * How often it is said, more for a phrase that its words nearly always form together, for names, for long words
 * and for what is said early.
 */
function scoreOf(phrase: Phrase, countOf: ReadonlyMap<string, number>, wordCount: number, isUnspaced: boolean): number {
  const { count, words, named, first, text } = phrase;
  const rarest = Math.min(...words.map((word) => countOf.get(word) ?? count));
  const together = words.length === 1 ? 1 : (1 + 0.6 * (words.length - 1)) * (count / Math.max(count, rarest)) ** 0.5;
  const early = 1 + 0.5 / (1 + (8 * first) / Math.max(1, wordCount));
  const isNamed = named * 2 >= count ? 1.4 : 1;
  const length = isUnspaced ? 1 : Math.min(1, 0.4 + text.length / (12 * words.length));
  return count ** 0.8 * together * early * isNamed * length;
}

/** Enough to see that "models" and "model" are one; no stemmer. */
function roughStem(word: string): string {
  return word.length > 4 ? word.replace(/(?:ies|es|s|en|n|e)$/, "") : word;
}

function isWithin(inner: readonly string[], outer: readonly string[]): boolean {
  return inner.length <= outer.length && inner.every((word) => outer.includes(word));
}
