// The words for time of each language (data/words/time), and the division of a text into lexemes: numbers, words and
// phrases with their meanings.

import ar from "../../../data/words/time/ar.txt" with { type: "text" };
import de from "../../../data/words/time/de.txt" with { type: "text" };
import en from "../../../data/words/time/en.txt" with { type: "text" };
import es from "../../../data/words/time/es.txt" with { type: "text" };
import fr from "../../../data/words/time/fr.txt" with { type: "text" };
import hi from "../../../data/words/time/hi.txt" with { type: "text" };
import id from "../../../data/words/time/id.txt" with { type: "text" };
import it from "../../../data/words/time/it.txt" with { type: "text" };
import ja from "../../../data/words/time/ja.txt" with { type: "text" };
import ko from "../../../data/words/time/ko.txt" with { type: "text" };
import nl from "../../../data/words/time/nl.txt" with { type: "text" };
import pt from "../../../data/words/time/pt.txt" with { type: "text" };
import ru from "../../../data/words/time/ru.txt" with { type: "text" };
import zh from "../../../data/words/time/zh.txt" with { type: "text" };
import { isAscii } from "../../kit/ascii.ts";
import { parseWordList } from "../../words/word-lists.ts";

const LISTS = { en, de, fr, es, pt, it, nl, id, ru, ar, hi, zh, ja, ko } as const;
/** A language with words for time. */
export type TimeLanguage = keyof typeof LISTS;
/** Languages whose words are not separated by spaces, or carry particles, so that phrases may begin anywhere. */
const UNSPACED: readonly TimeLanguage[] = ["zh", "ja", "ko"];
/** Languages with Latin letters. */
export const LATIN_LANGUAGES: readonly TimeLanguage[] = ["en", "de", "fr", "es", "pt", "it", "nl", "id"];

/** A word, phrase or number of a text. */
export interface Lexeme {
  /** Its form in the lexicon: lower case, without diacritics in Latin and Cyrillic letters. */
  readonly text: string;
  /** Range in the folded text, in UTF-16 code units. */
  readonly start: number;
  readonly end: number;
  /** Meanings: section names of the word list. Empty for other words. */
  readonly meanings: ReadonlySet<string>;
  /** Value of a number in digits; null for anything else. */
  readonly digits: number | null;
}

/** The words for time of one language. */
export interface Lexicon {
  readonly language: TimeLanguage;
  readonly isSpaced: boolean;
  /** Meanings of each phrase. */
  readonly meanings: ReadonlyMap<string, ReadonlySet<string>>;
  /** Phrases by their first word (spaced languages) or first character, longest first. */
  readonly phrases: ReadonlyMap<string, readonly string[]>;
}

const lexicons = new Map<TimeLanguage, Lexicon>();

/** The lexicon of a language. */
export function lexiconOf(language: TimeLanguage): Lexicon {
  let lexicon = lexicons.get(language);
  if (lexicon === undefined) {
    lexicon = buildLexicon(language);
    lexicons.set(language, lexicon);
  }
  return lexicon;
}

function buildLexicon(language: TimeLanguage): Lexicon {
  const isSpaced = !UNSPACED.includes(language);
  const meanings = new Map<string, Set<string>>();
  for (const [section, words] of parseWordList(LISTS[language])) {
    for (const word of words) {
      const phrase = isSpaced ? withoutDiacritics(word.replaceAll("_", " ")) : word.replaceAll("_", "");
      meanings.set(phrase, (meanings.get(phrase) ?? new Set()).add(section));
    }
  }
  const phrases = Map.groupBy(meanings.keys(), (phrase) =>
    isSpaced ? (phrase.split(" ", 1)[0] ?? "") : phrase.charAt(0),
  );
  for (const those of phrases.values()) those.sort((left, right) => right.length - left.length);
  return { language, isSpaced, meanings, phrases };
}

/**
 * The languages whose words a text may use. The script decides where it can; a Latin text has its detected language.
 * @param language BCP 47; `und` if unknown
 * @returns the likely languages, then the less likely ones
 */
export function languagesOf(
  text: string,
  language: string,
): { readonly likely: readonly TimeLanguage[]; readonly unlikely: readonly TimeLanguage[] } {
  if (/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text)) return { likely: ["ja"], unlikely: [] };
  if (/\p{Script=Hangul}/u.test(text)) return { likely: ["ko"], unlikely: [] };
  const primary = language.toLowerCase().split("-", 1)[0] ?? "";
  if (/\p{Script=Han}/u.test(text)) return { likely: primary === "ja" ? ["ja"] : ["zh"], unlikely: ["ja"] };
  if (/\p{Script=Arabic}/u.test(text)) return { likely: ["ar"], unlikely: [] };
  if (/\p{Script=Devanagari}/u.test(text)) return { likely: ["hi"], unlikely: [] };
  if (/\p{Script=Cyrillic}/u.test(text)) return { likely: ["ru"], unlikely: [] };
  const known = LATIN_LANGUAGES.find((each) => each === primary);
  if (known === undefined) return { likely: LATIN_LANGUAGES, unlikely: [] };
  return { likely: [known], unlikely: LATIN_LANGUAGES.filter((each) => each !== known) };
}

const LETTER_WITH_MARKS = /([\p{Script=Latin}\p{Script=Cyrillic}])\p{M}+/gu;

/** Removes diacritics from Latin and Cyrillic letters. Marks of other scripts change the letter, so they stay. */
export function withoutDiacritics(word: string): string {
  if (isAscii(word)) return word;
  return word.normalize("NFD").replace(LETTER_WITH_MARKS, "$1").normalize("NFC").replaceAll("ß", "ss");
}

const NO_MEANINGS: ReadonlySet<string> = new Set();
const TOKEN = /\p{Nd}+|[\p{L}\p{M}]+|,/gu;
/** Endings of ordinal numbers, written directly after the digits. */
const ORDINAL_ENDINGS: ReadonlySet<string> = new Set(["st", "nd", "rd", "th", "er", "eme", "e", "o", "a", "º", "ª"]);

/**
 * Divides a folded text into lexemes of a language, longest phrases first. Punctuation other than commas is left out.
 */
export function lexemesOf(text: string, lexicon: Lexicon): Lexeme[] {
  return lexicon.isSpaced ? spacedLexemes(text, lexicon) : unspacedLexemes(text, lexicon);
}

/** A word, a number or a comma of a text. Its range is in UTF-16 code units. */
interface Token {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

let lastTokens: { readonly text: string; readonly tokens: readonly Token[] } = { text: "", tokens: [] };

/** The tokens of a text. The last ones are kept, because a query is read in several languages in a row. */
function tokensOf(text: string): readonly Token[] {
  if (lastTokens.text !== text) {
    const tokens = Array.from(text.matchAll(TOKEN), (match) => {
      const [word] = match;
      return { text: withoutDiacritics(word), start: match.index, end: match.index + word.length };
    });
    lastTokens = { text, tokens };
  }
  return lastTokens.tokens;
}

function spacedLexemes(text: string, { meanings, phrases }: Lexicon): Lexeme[] {
  const tokens = tokensOf(text);
  const lexemes: Lexeme[] = [];
  for (let at = 0; at < tokens.length; ) {
    const token = tokens[at];
    if (token === undefined) break;
    const digits = numberIn(token.text);
    const before = lexemes.at(-1);
    if (before?.digits != null && before.end === token.start && ORDINAL_ENDINGS.has(token.text)) {
      at += 1;
      continue;
    }
    const phrase = (phrases.get(token.text) ?? []).find((each) => {
      const words = each.split(" ");
      return words.every((word, offset) => tokens[at + offset]?.text === word);
    });
    const length = phrase === undefined ? 1 : phrase.split(" ").length;
    const end = tokens[at + length - 1]?.end ?? token.end;
    const found = phrase === undefined ? undefined : meanings.get(phrase);
    lexemes.push({ text: phrase ?? token.text, start: token.start, end, meanings: found ?? NO_MEANINGS, digits });
    at += length;
  }
  return lexemes;
}

function unspacedLexemes(text: string, { meanings, phrases }: Lexicon): Lexeme[] {
  const lexemes: Lexeme[] = [];
  for (let at = 0; at < text.length; ) {
    const number = /^\p{Nd}+/u.exec(text.slice(at, at + 20))?.[0];
    if (number !== undefined) {
      const end = at + number.length;
      lexemes.push({ text: number, start: at, end, meanings: NO_MEANINGS, digits: numberIn(number) });
      at = end;
      continue;
    }
    const numeral = numeralAt(text, at);
    if (numeral !== null) {
      lexemes.push({ ...numeral, start: at, meanings: NO_MEANINGS });
      at = numeral.end;
      continue;
    }
    const character = text.charAt(at);
    const phrase = phrases.get(character)?.find((each) => text.startsWith(each, at));
    const end = at + (phrase ?? character).length;
    if (phrase !== undefined) {
      lexemes.push({ text: phrase, start: at, end, meanings: meanings.get(phrase) ?? NO_MEANINGS, digits: null });
    } else if (/[\p{L}\p{M},]/u.test(character)) {
      lexemes.push({ text: character, start: at, end, meanings: NO_MEANINGS, digits: null });
    }
    at = end;
  }
  return lexemes;
}

// 十五 and 二十, which are more than one numeral of the word list. 十 alone is in it.
function numeralAt(text: string, at: number): { text: string; end: number; digits: number } | null {
  const match = /^([二三四五六七八九]?)十([一二三四五六七八九]?)/.exec(text.slice(at, at + 3));
  if (match === null || match[0].length < 2) return null;
  const [written, tens = "", ones = ""] = match;
  const numeralOf = (digit: string, none: number) => (digit === "" ? none : "一二三四五六七八九".indexOf(digit) + 1);
  return { text: written, end: at + written.length, digits: numeralOf(tens, 1) * 10 + numeralOf(ones, 0) };
}

function numberIn(text: string): number | null {
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}
