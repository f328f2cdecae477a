// Divides a question that asks for several things, such as "Who is my dentist and how much is the rent?", into one
// question for each of them. Pure functions.

import { foldLetters } from "../words/word-patterns.ts";
import { askedKindWords } from "./asked-kind.ts";
import { contextualQuestion } from "./contextual-question.ts";
import { type Word, wordsOf } from "./follow-up.ts";
import { CONJUNCTIONS } from "./question-features.ts";

/** Maximum number of things; a question for more is not divided. */
const PARTS_MAX = 3;
/** Maximum length of a question that is divided, in UTF-16 code units. */
const QUESTION_UNITS_MAX = 500;
/** Maximum number of function words between "and" and a question word, as in "and at what time". */
const WORDS_BETWEEN_MAX = 2;
/** Minimum number of words of a question in addition to its question word, if none of them is a topic. */
const OTHER_WORDS_MIN = 2;

const SENTENCE_END = /(?<=[?？؟;])/u;
const QUESTION_MARK = /[?？؟;]/u;

/** Words and phrases that ask for a thing, as lists of words, by their first word. */
const ASKING = Map.groupBy(
  ["question words", "further question words", "ask"]
    .flatMap(askedKindWords)
    .map((phrase) => phrase.split("_").map(foldLetters)),
  ([first]) => first ?? "",
);
/** Languages whose question word is just before the verb at the end, so that it does not follow an "and". */
const VERB_LAST = ["hi", "tr"];
const AND = wordsForAnd(([language]) => !VERB_LAST.includes(language));
const AND_VERB_LAST = wordsForAnd(([language]) => VERB_LAST.includes(language));

/** A question for one of several things. */
export interface QuestionPart {
  /** In the words of the question. */
  readonly text: string;
  /**
   * The query for this part. If the part refers to the first one, the topics of that one are appended: "how old is she?
   * (Ida)".
   */
  readonly query: string;
}

/** The parts of a question, in order; empty if it asks for only one thing, or for more than `PARTS_MAX`. */
export function questionParts(question: string): readonly QuestionPart[] {
  if (question.length > QUESTION_UNITS_MAX) return [];
  const parts = sentencesOf(question).flatMap(partsOfSentence);
  const [first = "", ...later] = parts;
  if (later.length === 0 || parts.length > PARTS_MAX) return [];
  if (!parts.every(isQuestion)) return [];
  const asked = { role: "user", content: first } as const;
  return parts.map((text, at) => ({ text, query: at === 0 ? text : contextualQuestion([asked], text) }));
}

/**
 * Splits a text after each question mark or semicolon. A part without a question mark is joined to the part before it.
 */
function sentencesOf(question: string): readonly string[] {
  const sentences: string[] = [];
  for (const sentence of question.split(SENTENCE_END)) {
    if (sentences.length > 0 && !QUESTION_MARK.test(sentence)) sentences.push(`${sentences.pop()}${sentence}`);
    else sentences.push(sentence);
  }
  return sentences.map((sentence) => sentence.trim()).filter((sentence) => sentence !== "");
}

/** The sentence, divided before each "and" that begins a new question. */
function partsOfSentence(sentence: string): readonly string[] {
  const words = wordsOf(sentence);
  const parts: string[] = [];
  let begin = 0;
  for (const [at, word] of words.entries()) {
    if (word.index <= begin || !beginsQuestion(words, at)) continue;
    const part = sentence.slice(begin, word.index);
    if (!isQuestion(part)) continue;
    parts.push(part.replace(/[\s,，、]+$/u, ""));
    begin = words[at + 1]?.index ?? sentence.length;
  }
  return [...parts, sentence.slice(begin)];
}

/** Whether the word at `at` is an "and" after which a new question begins. */
function beginsQuestion(words: readonly Word[], at: number): boolean {
  const word = plain(words[at]);
  if (AND_VERB_LAST.has(word)) return words.slice(at + 1).some((_, after) => isAsking(words, at + 1 + after));
  if (!AND.has(word)) return false;
  for (let next = at + 1; next <= at + 1 + WORDS_BETWEEN_MAX; next++) {
    if (isAsking(words, next)) return true;
    if (words[next]?.isTopic !== false) return false;
  }
  return false;
}

/** Whether a text has a question word and enough other words; "and where exactly" has not. */
function isQuestion(text: string): boolean {
  const words = wordsOf(text);
  const others = words.filter((_, at) => !isAsking(words, at));
  if (others.length === words.length) return false;
  return others.length >= OTHER_WORDS_MIN || others.some(({ isTopic }) => isTopic);
}

/** Whether a question word, or a phrase that asks, begins at `at`. */
function isAsking(words: readonly Word[], at: number): boolean {
  const phrases = ASKING.get(plain(words[at])) ?? [];
  return phrases.some((phrase) => phrase.every((word, next) => plain(words[at + next]) === word));
}

/**
 * Folded words for "and" of the chosen languages. Their other meanings do not matter here, because a question word must
 * follow.
 */
function wordsForAnd(isChosen: (entry: [language: string, words: string]) => boolean): ReadonlySet<string> {
  const chosen = Object.entries(CONJUNCTIONS).filter(isChosen);
  return new Set(chosen.flatMap(([, words]) => words.split(" ").map(foldLetters)));
}

function plain(word: Word | undefined): string {
  return word === undefined ? "" : foldLetters(word.lower);
}
