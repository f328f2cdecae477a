// Decides whether texts can contain an answer of the kind that a question asks for. An extractive answer refuses if the
// best passages certainly contain none: for a question about the dentist's phone number, they name her but have no
// number. In doubt, it does not refuse. Word list: data/words/answer-kinds.txt.

import { wordOfKind } from "../words/answer-kinds.ts";
import { topiclessWordsOf } from "../words/stop-words.ts";
import { anyOf, foldLetters, spacedWords } from "../words/word-patterns.ts";
import { type AnswerKind, askedKind, askedKindWords, KIND_UNITS_MAX } from "./asked-kind.ts";
import {
  digitRuns,
  FULL_DATE,
  hasLargeNumerals,
  hasNumber,
  hasNumerals,
  type NumberInText,
  numbersIn,
} from "./numbers-in-text.ts";

/** Minimum number of digits of a phone number. */
const PHONE_DIGITS_MIN = 5;
const AGE_YEARS_MAX = 120;
/**
 * Minimum length, in UTF-16 code units, of the beginning that two forms of a name share. Of a longer name, forms may
 * lack the last `NAME_ENDING_UNITS_MAX` units.
 */
const NAME_STEM_UNITS_MIN = 4;
const NAME_ENDING_UNITS_MAX = 2;

const UNIT = wordOfKind("unit");
const MONTH = wordOfKind("month");
const AGED = wordOfKind("aged");
const BORN = wordOfKind("born");
const BREED = wordOfKind("breed");
const COLOUR = new RegExp(wordOfKind("colour").source, "gu");
const DAY = wordOfKind("day");
const HOLIDAY = wordOfKind("holiday");
const MONEY_CONTEXT = wordOfKind("money context");
const NUMBER_NOUN = wordOfKind("number noun");
const PASSWORD = wordOfKind("password");
const PLATE_NOUN = new RegExp(anyOf(askedKindWords("plate noun")), "u");
const RELATIVE_TIME = wordOfKind("relative time");
const STREET = wordOfKind("street");
const TIME_OF_DAY = wordOfKind("time of day");
/**
 * A word inside a question that begins a relative clause. Then the question is about a person whom it does not name.
 */
const RELATIVE_CLAUSE = new RegExp(anyOf(askedKindWords("relative clause")), "u");

const MONEY_SIGN = /[\p{Sc}元块塊円原]/u;
const YEAR = /^(?:19|20)\p{Nd}{2}$/u;
const DAY_OF_MONTH =
  /(?<!\p{Nd})\p{Nd}{1,2}[./-]\p{Nd}{1,2}(?!\p{Nd})|(?<!\p{Nd})\p{Nd}{1,2}(?:st|nd|rd|th)(?!\p{L})|[\p{Nd}一二三四五六七八九十] ?[月월日号號일]/u;
const AGE_IN_YEARS = /[\p{Nd}一二三四五六七八九十] ?[岁歲歳才살]/u;
/** A word before a number that is a name, not an amount, such as "No." or "room". */
const NUMBERED = /^(?:no|nr|n|num|number|numero|nummer|room|zimmer|size|gr|grosse|№|#|line|gate|bus)$/u;
const PLATE =
  /\p{Lu}{1,3}[- ]?\p{Nd}{2,4}(?!\p{Nd})|\p{Nd}{1,4}[- ]?\p{Lu}{1,3}(?![\p{L}\p{Nd}])|\p{Script=Arabic} ?\p{Nd}{2,}/u;
const CODE = /\p{Nd}[- ]\p{Nd}+[- ]\p{Nd}|\p{Nd}#|[一二三四五六七八九十\p{Nd}] ?[号號番호]/u;
const DURATION = /\p{Nd}h\p{Nd}{2}|\p{Nd}:\p{Nd}{2}/u;
const CLOTHING_SIZE = /(?<![\p{L}\p{N}'’])(?:XXS|XS|S|M|L|XL|XXL)(?![\p{L}\p{N}'’])/u;
const CAPITALISED = /(?<![\p{L}\p{M}\p{N}])\p{Lu}[\p{L}\p{M}]+/gu;
/** Capitalised words that do not begin a sentence. */
const INNER_CAPITALISED = /(?<=[\p{Ll}\p{N},] )\p{Lu}[\p{L}\p{M}]+/gu;
const CASED = /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}]/u;

const has = (pattern: RegExp, text: string) => pattern.test(spacedWords(text));
const isWord = (pattern: RegExp, word: string | undefined) => word !== undefined && pattern.test(` ${word} `);

const HOLDS: Readonly<Record<AnswerKind, (text: string, question: string) => boolean>> = {
  address: (text) => /\p{Nd}/u.test(text) || has(STREET, text),
  age: hasAge,
  birthday: hasBirthday,
  breed: (text) => has(BREED, text),
  colour: (text, question) => {
    const own = spacedWords(question);
    return (spacedWords(text).match(COLOUR) ?? []).some((colour) => !own.includes(colour));
  },
  date: (text, question) =>
    hasNumber(text, question) || hasDay(text) || [DAY, TIME_OF_DAY, RELATIVE_TIME].some((words) => has(words, text)),
  email: (text) => text.includes("@"),
  "first name": (text, question) => hasNameBeside(text, question, -1),
  measure: hasMeasure,
  name: (text, question) =>
    namesIn(text, CAPITALISED).some((name) => name === "" || !spacedWords(question).includes(` ${name} `)),
  number: hasCode,
  password: (text) => /\p{Nd}/u.test(text) || has(PASSWORD, text),
  phone: (text, question) =>
    digitRuns(text, question).some((digits) => digits.length >= PHONE_DIGITS_MIN) || has(NUMBER_NOUN, text),
  plate: (text) => PLATE.test(text) || has(PLATE_NOUN, text) || (/\p{Nd}/u.test(text) && has(NUMBER_NOUN, text)),
  price: hasMoney,
  surname: (text, question) => hasNameBeside(text, question, 1),
  time: (text, question) => hasNumber(text, question) || has(TIME_OF_DAY, text),
  weekday: (text) => has(DAY, text),
  year: (text) => /\p{Nd}{4}|['’]\p{Nd}{2}/u.test(text) || has(RELATIVE_TIME, text),
};

/** Whether a text has something of this kind that is not in the question. Also true if this cannot be decided. */
export function holdsKind(text: string, kind: AnswerKind, question: string): boolean {
  return HOLDS[kind](text, question);
}

/**
 * Whether texts surely do not answer a question: its kind of answer is known, and no text that mentions a name of the
 * question has anything of this kind. If no text mentions such a name, all texts are looked at.
 * @param question the question in its original words
 * @param query the self-contained question that was searched for
 */
export function lacksAskedKind(question: string, query: string, texts: readonly string[]): boolean {
  const kind = askedKind(question);
  if (kind === null) return false;
  const names = hasRelativeClause(question) ? new Set<string>() : namesOf(query, texts);
  const about = texts.filter((text) => mentionsAny(text, names));
  return !(about.length > 0 ? about : texts).some((text) => holdsKind(text, kind, query));
}

// The first two words may be a question word and its noun.
function hasRelativeClause(question: string): boolean {
  const words = spacedWords(question.slice(0, KIND_UNITS_MAX)).trim().split(" ");
  return RELATIVE_CLAUSE.test(` ${words.slice(2).join(" ")} `);
}

function hasAge(text: string, question: string): boolean {
  if (AGE_IN_YEARS.test(text)) return true;
  const isBirth = has(BORN, text);
  return numbersIn(text, question).some((number) => {
    if (number.isMoney || isMeasured(number)) return false;
    if (YEAR.test(number.text)) return isBirth;
    if (/^\p{Nd}/u.test(number.text) && !(Number(number.text) <= AGE_YEARS_MAX)) return false;
    const isLast = !/[\p{L}\p{Nd}]/u.test(number.after ?? "");
    return isLast || isWord(AGED, number.after) || isWord(AGED, number.before);
  });
}

// Whether a number is a measure, a date or the number of a thing: it is beside a unit or a month, or after a word such
// as "room".
function isMeasured({ before, after }: NumberInText): boolean {
  return isWord(UNIT, after) || isWord(MONTH, before) || isWord(MONTH, after) || NUMBERED.test(before ?? "");
}

function hasMoney(text: string, question: string): boolean {
  if (MONEY_SIGN.test(text) || hasLargeNumerals(text)) return true;
  const isAboutMoney = has(MONEY_CONTEXT, text);
  return numbersIn(text, question).some((number) => {
    if (number.isMoney || /\p{Nd}[.,’' ]\p{Nd}/u.test(number.text) || number.after === "k") return true;
    return isAboutMoney && !isMeasured(number) && !YEAR.test(number.text);
  });
}

function hasMeasure(text: string, question: string): boolean {
  if (hasNumerals(text) || DURATION.test(text) || CLOTHING_SIZE.test(text)) return true;
  return numbersIn(text, question).some(
    ({ text: number, before, after, isMoney }) =>
      !(isMoney || YEAR.test(number) || isWord(MONTH, after) || (isWord(MONTH, before) && !isWord(UNIT, after))),
  );
}

function hasCode(text: string, question: string): boolean {
  if (CODE.test(text) || has(NUMBER_NOUN, text)) return true;
  return numbersIn(text, question).some(
    (number) =>
      /^\p{Nd}/u.test(number.text) &&
      !(number.isMoney || YEAR.test(number.text)) &&
      !(isMeasured(number) && !NUMBERED.test(number.before ?? "")),
  );
}

function hasBirthday(text: string, question: string): boolean {
  const isBirth = has(BORN, text);
  if (isBirth && has(RELATIVE_TIME, text)) return true;
  return hasDay(text) && (isBirth || mentionsAny(text, namesOf(question, [text])));
}

function hasDay(text: string): boolean {
  return DAY_OF_MONTH.test(text) || text.search(FULL_DATE) >= 0 || has(MONTH, text) || has(HOLIDAY, text);
}

/** Whether a name that the question lacks is beside a name of the question. @param step 1: behind it, -1: before it */
function hasNameBeside(text: string, question: string, step: 1 | -1): boolean {
  if (!hasCapitals(text)) return true;
  const own = spacedWords(question);
  const isOwn = (word: string) => own.includes(spacedWords(word));
  const tokens = text.match(/[\p{L}\p{M}\p{N}-]+|[^\p{L}\p{M}\p{N}\s]/gu) ?? [];
  return tokens.some((token, at) => {
    const beside = tokens[at + step] ?? "";
    return /^\p{Lu}/u.test(token) && isOwn(token) && /^\p{Lu}/u.test(beside) && !isOwn(beside);
  });
}

/** Whether names are recognisable in a text: most of its letters have upper and lower case, and one is upper case. */
function hasCapitals(text: string): boolean {
  const letters = text.match(/\p{L}/gu) ?? [];
  return letters.filter((letter) => CASED.test(letter)).length * 2 >= letters.length && /\p{Lu}/u.test(text);
}

/** The names of a text, folded. In a text without capitals it is one empty name, because there may be any. */
function namesIn(text: string, pattern: RegExp): readonly string[] {
  if (!hasCapitals(text)) return [""];
  return (text.match(pattern) ?? []).filter((word) => !isTopicless(word)).map(foldLetters);
}

/** The names in a question, folded: words with a capital in the question, or inside a sentence of one of the texts. */
function namesOf(question: string, texts: readonly string[]): ReadonlySet<string> {
  const known = new Set(texts.flatMap((text) => text.match(INNER_CAPITALISED) ?? []).map(foldLetters));
  const words = question.match(/[\p{L}\p{M}]{2,}/gu) ?? [];
  const names = words.filter(
    (word, at) => (/^\p{Lu}/u.test(word) && (at > 0 || !isTopicless(word))) || known.has(foldLetters(word)),
  );
  return new Set(names.map(foldLetters));
}

function isTopicless(word: string): boolean {
  return topiclessWordsOf("und").has(word.toLowerCase());
}

/** Whether a text mentions one of these folded names, in any of its forms. */
function mentionsAny(text: string, names: ReadonlySet<string>): boolean {
  const words = spacedWords(text);
  return [...names].some((name) => {
    const stem = name.slice(0, Math.max(NAME_STEM_UNITS_MIN, name.length - NAME_ENDING_UNITS_MAX));
    return words.includes(` ${stem}`);
  });
}
