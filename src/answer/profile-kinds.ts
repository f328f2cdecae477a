// Decides what a sentence of a user's memory says about the user: a preference, something about another person, an
// event, or another fact. It works on words and times, without a model. Word list: data/words/people.txt.

import peopleList from "../../data/words/people.txt" with { type: "text" };
import { DAY_MS } from "../kit/clock.ts";
import { standingOf } from "../retrieval/standing.ts";
import { resolveTime } from "../retrieval/time/resolve-time.ts";
import { wordOfKind } from "../words/answer-kinds.ts";
import { isQuestion } from "../words/spoken-sentences.ts";
import { stopWordsOf } from "../words/stop-words.ts";
import { parseWordList } from "../words/word-lists.ts";
import { anyOf, foldLetters, spacedWords } from "../words/word-patterns.ts";

/** What a sentence says about the user. */
export type ProfileKind =
  | { readonly kind: "fact" | "preference" | "event" }
  /** `name` is that of the person whom the sentence is about. */
  | { readonly kind: "person"; readonly name: string };

/** A sentence of a memory. */
export interface ProfileSentence {
  readonly text: string;
  /** BCP 47; `und` if unknown. */
  readonly language: string;
  /** When it was said or happened, Unix milliseconds. */
  readonly at: number;
  /** Whether it was said in a conversation. Such a sentence counts only if it is about the user or a named person. */
  readonly isSpoken: boolean;
  /** Folded names of the user. They never count as the name of another person. */
  readonly userNames: ReadonlySet<string>;
}

/** Maximum length of a sentence that counts, in UTF-16 code units. Longer ones are prose about something else. */
const SENTENCE_UNITS_MAX = 400;
/** Minimum number of words, in scripts with spaces. A single word says nothing without its context. */
const WORDS_MIN = 2;
/** Maximum duration of an event: a named month. A longer time belongs to something that lasts. */
const EVENT_MS_MAX = 31 * DAY_MS;
/** Maximum number of words between a name and its role: "Greta is my older sister". */
const ROLE_GAP_MAX = 3;
/** Minimum length of a word of an id or a name that stands for the user, in UTF-16 code units. */
const NAME_UNITS_MIN = 3;
/** Maximum number of words of a name. */
const NAME_WORDS_MAX = 3;

const WORDS = parseWordList(peopleList);
const wordsIn = (section: string) => WORDS.get(section) ?? [];
const setOf = (section: string): ReadonlySet<string> => new Set(wordsIn(section));
const ROLES = setOf("roles");
const NAMED = setOf("named");
const IS = setOf("is");
const HAS = setOf("has");
const OWN_WORDS = setOf("own");
const OWN = new RegExp(anyOf(wordsIn("own").map((word) => word.replace("'", "_"))), "u");
const DOES = new RegExp(`^ ${anyOf(wordsIn("does"))}`, "u");
const LASTING = new RegExp(anyOf(wordsIn("lasting")), "u");
const CALENDAR = wordOfKind("month", "day", "holiday");

const WORD = /[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{M}\p{N}]+)*/gu;
const CAPITAL = /^\p{Lu}[\p{L}\p{M}'’-]+$/u;
const POSSESSIVE = /['’]s$|['’]$/u;
const UNSPACED = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}]/u;
const UNCASED = /[\p{scx=Han}\p{scx=Katakana}\p{Script=Hangul}]/u;
/** Names in scripts without capitals: after a word for a relative or colleague, or before a form of address. */
const UNCASED_NAMES: readonly RegExp[] = [
  /(?:妹|姉|兄|弟|母|父|妻|夫|娘|息子|友人|友達|同僚|上司|先生|彼女|彼氏)の?(?:名前は)?([\p{Script=Han}\p{Script=Katakana}ー]{2,5}?)(?=さん|ちゃん|くん|君|は|が|と|の|に|、|。|$)/u,
  /([\p{Script=Han}\p{Script=Katakana}ー]{2,5}?)(?=さん|ちゃん|くん|先生)/u,
  /(?:妹妹|姐姐|哥哥|弟弟|妈妈|爸爸|妻子|丈夫|女儿|儿子|朋友|同事|老板|经理|医生|邻居|老师)(?:叫|名叫|是)?(\p{Script=Han}{2,3}?)(?=在|是|住|的|喜|工|从|有|，|。|$)/u,
  /(?:여동생|남동생|언니|누나|오빠|형|어머니|아버지|아내|남편|딸|아들|친구|동료|상사|선생님|이웃)(?:은|는|이|가|의)?(?: 이름은)? ?(\p{Script=Hangul}{2,4}?)(?=은|는|이|가|의|을|를|와|과|씨|님|\s|\.|$)/u,
  /(\p{Script=Hangul}{2,4}?)(?= ?(?:씨|님)(?!\p{Script=Hangul}))/u,
];

/** The folded words of names and ids of a user. */
export function userNamesOf(names: readonly string[]): ReadonlySet<string> {
  const words = names.flatMap((name) => foldLetters(name).split(/[^\p{L}\p{M}]+/u));
  return new Set(words.filter((word) => word.length >= NAME_UNITS_MIN || UNSPACED.test(word)));
}

/** Decides what a sentence says about the user; null if nothing. */
export function profileKindOf(sentence: ProfileSentence): ProfileKind | null {
  const { text, language, at, isSpoken, userNames } = sentence;
  if (text.length > SENTENCE_UNITS_MAX || isQuestion(text)) return null;
  const words = wordsOf(text);
  if (!UNSPACED.test(text) && words.length < WORDS_MIN) return null;
  // "Ada likes tea", in a memory of Ada
  const own = words.some(({ folded }) => userNames.has(folded.replace(POSSESSIVE, "")));
  const spoken = own ? text.replace(WORD, (word) => (userNames.has(foldLetters(word)) ? "User" : word)) : text;
  if (standingOf(spoken, language) !== null) return { kind: "preference" };
  const name = personIn(words, text, sentence);
  if (isSpoken && name === null && !own && !OWN.test(spacedWords(text))) return null;
  if (isEvent(text, at, language)) return { kind: "event" };
  return name === null ? { kind: "fact" } : { kind: "person", name };
}

interface Word {
  readonly text: string;
  readonly folded: string;
  readonly start: number;
  readonly end: number;
}

function wordsOf(text: string): readonly Word[] {
  return Array.from(text.matchAll(WORD), ({ 0: word, index }) => {
    return { text: word, folded: foldLetters(word.replace("’", "'")), start: index, end: index + word.length };
  });
}

/** The name of the person whom a sentence is about; null if there is none. */
function personIn(words: readonly Word[], text: string, { language, userNames }: ProfileSentence): string | null {
  for (const pattern of UNCASED.test(text) ? UNCASED_NAMES : []) {
    const name = pattern.exec(text)?.[1];
    if (name !== undefined && !userNames.has(name)) return name;
  }
  const stopWords = stopWordsOf(language);
  const isName = (at: number) => {
    const word = words[at];
    if (word === undefined || !CAPITAL.test(word.text)) return false;
    const bare = word.folded.replace(POSSESSIVE, "");
    if (ROLES.has(bare) || NAMED.has(bare) || OWN_WORDS.has(bare) || userNames.has(bare) || stopWords.has(bare))
      return false;
    return !CALENDAR.test(` ${bare} `);
  };
  for (let at = 0; at < words.length; at++) {
    if (!isName(at) || isName(at - 1)) continue;
    let end = at + 1; // of the name
    while (end - at < NAME_WORDS_MAX && isName(end) && text.slice(words[end - 1]?.end, words[end]?.start) === " ")
      end++;
    if (hasRole(words, text, at, end) || tellsOfPerson(words, text, end)) {
      return text.slice(words[at]?.start, words[end - 1]?.end).replace(POSSESSIVE, "");
    }
  }
  return null;
}

/**
 * Whether a role, such as "sister", is before or after a name. @param at of the first word of the name, @param end
 * exclusive
 */
function hasRole(words: readonly Word[], text: string, at: number, end: number): boolean {
  let before = at - 1;
  while (at - before <= ROLE_GAP_MAX && isLink(words[before], words, before)) before--;
  if (ROLES.has(words[before]?.folded.replace(POSSESSIVE, "") ?? "")) return true;
  const isJoined = /,\s*$/u.test(text.slice(words[end - 1]?.end, words[end]?.start));
  const isStated = IS.has(words[end]?.folded ?? "");
  if (!isJoined && !isStated) return false;
  const from = isStated ? end + 1 : end;
  const determiner = words[from]?.folded ?? "";
  if (!OWN_WORDS.has(determiner) && !DETERMINERS.has(determiner)) return false;
  return words.slice(from + 1, from + 1 + ROLE_GAP_MAX).some(({ folded }) => ROLES.has(folded));
}

const DETERMINERS: ReadonlySet<string> = new Set(
  "his her their the a an sein seine ihr ihre der die das son sa leur le la l' su sus el suo sua il dele dela o zijn haar de его ее её".split(
    " ",
  ),
);

/** Whether a word only joins a role and a name: "is called", "heißt". "Is" counts beside such a word. */
function isLink(word: Word | undefined, words: readonly Word[], at: number): boolean {
  if (word === undefined) return false;
  return NAMED.has(word.folded) || (IS.has(word.folded) && isNamedAt(words, at));
}

function isNamedAt(words: readonly Word[], at: number): boolean {
  return [at - 1, at + 1].some((near) => NAMED.has(words[near]?.folded ?? ""));
}

/** Whether the words after a name are used for persons only. @param end of the name, exclusive */
function tellsOfPerson(words: readonly Word[], text: string, end: number): boolean {
  const last = words[end - 1];
  if (last === undefined) return false;
  if (POSSESSIVE.test(last.text) && HAS.has(words[end]?.folded ?? "")) return true;
  return DOES.test(spacedWords(text.slice(last.end)));
}

/** Whether a sentence is about something that happened on a day, or in a week or month. */
function isEvent(text: string, at: number, language: string): boolean {
  if (LASTING.test(spacedWords(text))) return false;
  const time = resolveTime(text, at, language);
  if (time === null || time.kind === "event") return false;
  const { from, to } = time.span;
  return from !== null && to !== null && to - from <= EVENT_MS_MAX;
}
