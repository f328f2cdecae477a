// Recognises queries for what an assistant said ("what did you recommend?") by the words of `asked-speaker.txt`.

import askedSpeakerList from "../../data/words/asked-speaker.txt" with { type: "text" };
import { byLanguage } from "../words/word-lists.ts";
import { anyOf, spacedWords } from "../words/word-patterns.ts";

/** The patterns of a language, or of several that resemble each other. data/words/asked-speaker.txt explains them. */
interface AskingWords {
  readonly sure: RegExp;
  readonly not: RegExp;
  readonly asks: RegExp;
  readonly forms: RegExp;
}

/** Polite forms that differ from "she" and "her" only by their capital letter, inside a sentence. */
const POLITE: Readonly<Record<string, RegExp>> = {
  de: /(?<=[\p{L}\p{N},;:–-] )(?:Sie|Ihnen|Ihr)(?=\P{L}|e[mnrs]?(?!\p{L}))/gu,
  it: /(?<=[\p{L}\p{N},;:–-] )(?:Lei|Suoi|Suo|Sua|Sue)(?!\p{L})/gu,
};

const BY_LANGUAGE = byLanguage(askedSpeakerList, (wordsOf): AskingWords => {
  const pattern = (kind: string, flags = "u") => new RegExp(anyOf(wordsOf(kind)), flags);
  return { sure: pattern("sure"), not: pattern("not", "gu"), asks: pattern("asks"), forms: pattern("forms") };
});
const ALL = new Set(BY_LANGUAGE.values());

/**
 * Whether a query asks for what an assistant said, such as "what did you recommend?".
 * @param language of the query, BCP 47; `und` if unsure
 */
export function asksForAssistant(query: string, language: string): boolean {
  const code = language.split("-")[0] ?? "";
  const polite = POLITE[code];
  const text = spacedWords(polite === undefined ? query : query.replace(polite, "$&2"));
  const known = BY_LANGUAGE.get(code);
  if (known !== undefined) return asks(text, known, true);
  return ALL.values().some((words) => asks(text, words, false));
}

function asks(text: string, words: AskingWords, isLanguageKnown: boolean): boolean {
  if (words.sure.test(text)) return true;
  const rest = text.replace(words.not, " ");
  return words.asks.test(rest) || (isLanguageKnown && words.forms.test(rest));
}
