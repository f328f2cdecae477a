// What a memory is about, as a few key phrases: runs of words between words without a topic, ranked by how often and how
// early they come (after RAKE, Rose et al. 2010, and YAKE, Campos et al. 2020, in what a single text can tell). Which of
// them cannot be a topic in their language, and which say the same, is the business of tag-words.ts.

import { stopWordsOf, topiclessWordsOf } from "../kit/stop-words.ts";
import { type Phrase, type Said, saidBy, saySame, topicWeightOf, UNSPACED, wordsOf } from "./tag-words.ts";

/** Most tags that are made for a memory. */
export const EXTRACTED_TAGS_MAX = 8;

/** Units at a text's beginning that are looked at: what it is about is said there. */
const SAMPLE_UNITS = 24_576;
/** Longest phrase that is no name. */
const PHRASE_WORDS_MAX = 3;
/** Longest name, particles included: "World Health Organization Regional Office". */
const NAME_WORDS_MAX = 5;
/** Longest tag in UTF-16 units: more is an identifier or no word at all. */
const TAG_UNITS_MAX = 48;
/** From this many words on, a phrase must come twice: in a long text nothing that matters is said once. */
const LONG_TEXT_WORDS = 400;

/**
 * Up to 8 key phrases of a text, best first, in lower case, none of which says what another does. Empty when nothing
 * stands out. Cost: about 0.3 ms for 1.4 KB, at most 6 ms.
 * @param language BCP 47, chooses the stop words and what a topic looks like.
 */
export function extractTags(content: string, language: string): string[] {
  const sample = content.slice(0, SAMPLE_UNITS).toWellFormed();
  const isUnspaced = UNSPACED.test(sample.slice(0, 2_048));
  const words = wordsOf(sample, language, isUnspaced);
  return best(phrasesOf(words, language, isUnspaced), words.length, language, isUnspaced);
}

interface RunWord {
  readonly word: string;
  /** Written with a capital, apart from the beginnings of sentences. */
  readonly isNamed: boolean;
  /** Part of a name that is no topic alone: "six" of "Six Flags". */
  readonly isWeak: boolean;
  /** Within a name only: "de" of "Charles de Gaulle". */
  readonly isParticle: boolean;
  readonly position: number;
}

/** Small words that stand within a name. */
const NAME_PARTICLE = /^(?:de|del|della|di|da|do|dos|das|du|des|la|le|van|von|der|den|zu|af|av|ibn|bin|al|el|y|of)$/;
/** Stop words with which names begin. */
const NAME_BEGINNING = /^(?:new|old|big|first|second|last)$/;

/** All phrases of up to three words, and names of up to five, that no stop word or sign parts. */
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
    // A sentence begins with a capital, but two in a row are a name.
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
  // Hiragana alone is grammar; one character alone says too little.
  return word.length >= 2 && !/^\p{Script=Hiragana}+$/u.test(word);
}

/** Counts all phrases of a run, and its names, of which each is a whole whatever stands beside it. */
function countPhrases(run: readonly RunWord[], phrases: Map<string, Phrase>): void {
  let nameStart = 0;
  for (const [at, { isNamed }] of run.entries()) {
    for (let from = at; from >= 0 && from > at - PHRASE_WORDS_MAX; from--) {
      count(run, from, at + 1, phrases, from === 0 && at === run.length - 1);
    }
    if (!isNamed) nameStart = at + 1;
    const nameLength = at + 1 - nameStart;
    if (nameLength < 2 || nameLength > NAME_WORDS_MAX || run[at + 1]?.isNamed === true) continue;
    if (nameLength > PHRASE_WORDS_MAX) count(run, nameStart, at + 1, phrases, true);
    else {
      const phrase = phrases.get(textOf(run, nameStart, at + 1));
      if (phrase !== undefined) phrase.whole++;
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

function count(
  run: readonly RunWord[],
  start: number,
  end: number,
  phrases: Map<string, Phrase>,
  isWhole: boolean,
): void {
  const [first, last] = [run[start], run[end - 1]];
  if (first === undefined || last === undefined || first.isParticle || last.isParticle) return;
  if (end - start === 1 && first.isWeak) return;
  const text = textOf(run, start, end);
  if (text.length > TAG_UNITS_MAX) return;
  let phrase = phrases.get(text);
  if (phrase === undefined) {
    const words = run.slice(start, end).map(({ word }) => word);
    phrase = { text, words, count: 0, whole: 0, named: 0, first: first.position };
    phrases.set(text, phrase);
  }
  phrase.count++;
  if (isWhole) phrase.whole++;
  let isNamed = true;
  for (let at = start; at < end && isNamed; at++) isNamed = run[at]?.isNamed === true;
  if (isNamed) phrase.named++;
}

/** Scores the phrases and takes the best that do not say the same. */
function best(phrases: Phrase[], wordCount: number, language: string, isUnspaced: boolean): string[] {
  const isLong = wordCount >= LONG_TEXT_WORDS;
  const countOf = new Map(phrases.filter(({ words }) => words.length === 1).map(({ text, count }) => [text, count]));
  // What is said once is a phrase only as a whole: a part of it begins or ends anywhere.
  const eligible = phrases.filter(
    ({ count, whole, words }) => count >= 2 || (!isLong && (words.length === 1 || whole > 0)),
  );
  const fragments = fragmentsAmong(eligible);
  const weightOf = topicWeightOf(phrases, language);
  const scored = eligible
    .filter(({ text }) => !fragments.has(text))
    .map((phrase) => ({ phrase, score: weightOf(phrase) * scoreOf(phrase, countOf, wordCount, isUnspaced) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.phrase.first - b.phrase.first);

  const tags: Said[] = [];
  for (const { phrase } of scored) {
    const said = saidBy(phrase);
    if (!tags.some((tag) => saySame(tag, said))) tags.push(said);
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
  const size = Math.min(words.length, PHRASE_WORDS_MAX);
  const together = size === 1 ? 1 : (1 + 0.6 * (size - 1)) * (count / Math.max(count, rarest)) ** 0.5;
  const early = 1 + 0.5 / (1 + (8 * first) / Math.max(1, wordCount));
  const isNamed = named * 2 >= count ? 1.4 : 1;
  const length = isUnspaced ? 1 : Math.min(1, 0.4 + text.length / (12 * words.length));
  return count ** 0.8 * together * early * isNamed * length;
}
