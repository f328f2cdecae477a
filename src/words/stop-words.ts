// Words that carry no topic: stop words of twelve languages, and further words of fourteen. A key phrase ends before
// such a word (preparation/tags.ts). Stop words identify a language (preparation/language.ts). A question that has no
// other words refers to the previous question (answer/follow-up.ts). Memories are compared by their other words
// (retrieval/time/words.ts). Full text does not use the lists. data/words/README.md describes them.

import stopWordList from "../../data/words/stop-words.txt" with { type: "text" };
import topiclessWordList from "../../data/words/topicless-words.txt" with { type: "text" };
import { parseWordList } from "./word-lists.ts";

const STOP_WORDS = parseWordList(stopWordList);
const TOPICLESS_WORDS = parseWordList(topiclessWordList);

/** The languages that have a list of stop words, BCP 47. */
export const STOP_WORD_LANGUAGES: readonly string[] = [...STOP_WORDS.keys()];

/** Whether a language has a list of stop words. */
export function hasStopWords(language: string): boolean {
  return STOP_WORDS.has(primaryLanguage(language));
}

/** Sets of words by kind and language, made when they are first needed. */
const sets = new Map<string, ReadonlySet<string>>();

/**
 * The stop words of a language, in lower case. For `und` and languages without a list, the stop words of all languages:
 * losing a key phrase is better than a tag such as "with".
 * @param language BCP 47; only the primary subtag counts.
 */
export function stopWordsOf(language: string): ReadonlySet<string> {
  return setOf("stop", [STOP_WORDS], language);
}

/**
 * The stop words and the topicless words of a language, in lower case. `und` and languages without a list are treated
 * as in `stopWordsOf`.
 */
export function topiclessWordsOf(language: string): ReadonlySet<string> {
  return setOf("topicless", [STOP_WORDS, TOPICLESS_WORDS], language);
}

function setOf(
  kind: "stop" | "topicless",
  lists: readonly ReadonlyMap<string, readonly string[]>[],
  language: string,
): ReadonlySet<string> {
  const section = hasStopWords(language) ? primaryLanguage(language) : "";
  const key = `${kind} ${section}`;
  let set = sets.get(key);
  if (set === undefined) {
    set = new Set(lists.flatMap((list) => list.get(section) ?? [...list.values()].flat()));
    sets.set(key, set);
  }
  return set;
}

function primaryLanguage(language: string): string {
  return language.toLowerCase().split("-", 1)[0] ?? "";
}
