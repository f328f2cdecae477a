// Recognises turns that say nothing of their own: "ok thanks", "and then?", "tell me more about the heel".

import bareTurnList from "../../data/words/bare-turns.txt" with { type: "text" };
import { stopWordsOf } from "../words/stop-words.ts";
import { parseWordList } from "../words/word-lists.ts";
import { anyOf, spacedWords, UNSPACED } from "../words/word-patterns.ts";

/** Maximum length of a bare turn, in UTF-16 code units. */
const UNITS_MAX = 100;
/** Maximum number of other words in a turn that asks for more. */
const TOPICS_MAX = 2;
/** Number of characters that count as a word in scripts without spaces. */
const UNSPACED_WORD = 4;

const LIST = parseWordList(bareTurnList);
const MORE = new RegExp(anyOf(LIST.get("more") ?? []), "gu");
const NOTHING = new RegExp(anyOf(LIST.get("nothing") ?? []), "gu");

/**
 * Whether a turn has no content: all of its words are stop words, thanks and such; or it asks for more and names at
 * most two topics. A turn with a number has content.
 * @param language of the turn, BCP 47; `und` if unsure
 */
export function isBareTurn(spoken: string, language: string): boolean {
  if (spoken.length > UNITS_MAX || /\p{N}/u.test(spoken)) return false;
  const text = spacedWords(spoken);
  const rest = text.replace(MORE, " ");
  const asksMore = rest !== text;
  return contentOf(rest.replace(NOTHING, " "), language) <= (asksMore ? TOPICS_MAX : 0);
}

function contentOf(text: string, language: string): number {
  const stopWords = foldedStopWords(language);
  return text
    .split(" ")
    .filter((word) => word !== "" && !stopWords.has(word))
    .reduce((sum, word) => sum + (UNSPACED.test(word) ? Math.ceil(word.length / UNSPACED_WORD) : 1), 0);
}

const folded = new Map<ReadonlySet<string>, ReadonlySet<string>>();

function foldedStopWords(language: string): ReadonlySet<string> {
  const words = stopWordsOf(language);
  let set = folded.get(words);
  if (set === undefined) {
    set = new Set([...words].flatMap((word) => spacedWords(word).trim().split(" ")));
    folded.set(words, set);
  }
  return set;
}
