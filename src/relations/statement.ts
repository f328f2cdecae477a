// A sentence as the judge of relations reads it: its content words in order, with what kind of value each can be, and
// the words that say that something has changed.

import { fold } from "../kit/fold.ts";
import { numberedWords } from "../retrieval/number-words.ts";
import { languagesOf, lexemesOf, lexiconOf } from "../retrieval/time/lexicon.ts";
import { relativeTimeIn } from "../retrieval/time/resolve-time.ts";
import { bareWord, stemOf } from "../retrieval/time/words.ts";
import { wordOfKind } from "../words/answer-kinds.ts";
import { stopWordsOf } from "../words/stop-words.ts";

/**
 * What a word can stand for. `number`: digits, also in times. `code`: letters before digits. `time`: a weekday or
 * month. `name`: a word with a capital letter within a sentence. `mark`: a single letter or a number that tells things
 * apart, such as "machine A" and "note number 5". `word`: any other.
 */
export type WordKind = "number" | "code" | "time" | "name" | "mark" | "word";

/** A content word of a statement. */
export interface StatementWord {
  /** In lower case. */
  readonly word: string;
  /** The beginning that all forms of the word share. */
  readonly stem: string;
  readonly kind: WordKind;
}

/** A sentence. */
export interface Statement {
  readonly words: readonly StatementWord[];
  /** Words that say that something has changed, such as "moved" and "no longer". */
  readonly changeWords: ReadonlySet<string>;
  /** Whether it says that something has ended, such as "no longer". */
  readonly isEnd: boolean;
  /** Whether it names a day from today, such as "yesterday". */
  readonly namesDay: boolean;
  /** Whether it is about one occasion, such as "this Monday". */
  readonly isOccasion: boolean;
  /** Whether it tells of the past. */
  readonly isPast: boolean;
  /** Whether it speaks of one of several, such as "a meeting". */
  readonly isIndefinite: boolean;
  /** Whether it has Chinese, Japanese or Korean characters: in these languages, the verb may follow the value. */
  readonly isUnspaced: boolean;
  /** Whether it asks something. */
  readonly isQuestion: boolean;
}

const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });
/** Characters that join the parts of a number, a time or a code. */
const JOINER = /^[-–.,:/@_+#°]$/u;
const MOMENTS: ReadonlySet<string> = new Set(["day-2", "day-1", "day+0", "day+1", "day+2"]);
/** Stop words that tell two things apart. */
const CONTRASTS: ReadonlySet<string> = new Set(numberedWords("contrasts"));
/** Words for a number that names one of a series. */
const SERIAL = /^(?:number|no|nr|nummer|numéro|numero|número|номер|番号|编号|번호)$/u;
/** Indefinite articles. */
const INDEFINITE: Readonly<Record<string, RegExp>> = {
  en: /\ban? (?!day|week|month|year|hour)/u,
  de: /\beine?[mnrs]?\b/u,
  es: /\bun[ao]?\b/u,
  it: /\bun[ao]?\b/u,
  fr: /\bune?\b/u,
  pt: /\buma?\b/u,
  nl: /\been\b/u,
};
const NEVER = /(?!)/;
/** "No longer", in the languages of the lexicon of time words. */
const END =
  /\bno longer\b|\bany ?more\b|\bnicht mehr\b|\bkeine?[nrms]? \S+ mehr\b|\bn(?:e |['’])\S+ plus\b|\bya no\b|\bnon .{1,20} più\b|\bnão .{1,20} mais\b|\bjá não\b|\bniet meer\b|\bgeen \S+ meer\b|больше не|もう.*(?:ない|ません)|不再|더 이상/u;
/** "This", as in "this Monday", in the languages of the lexicon of time words. */
const OCCASION =
  /(?<!\p{L})(?:this|diese[nrsm]?|est[ae]|cet?|cette|quest[oa]|deze|эт(?:от|у|и|о)|इस)(?!\p{L})|今週|今回|这个?(?:星期|周)|这次|이번/u;
/** Words of Japanese, Chinese and Korean that only join others. */
const PARTICLE = /^(?:\p{Script=Hiragana}+|[是到了在成的把被也就为]|으?로|이다|입니다|은|는)$/u;
const CAPITALISED_NOUNS = /^de\b/;

/** Reads a sentence. @param language BCP 47; `und` if unknown */
export function statementOf(text: string, language: string): Statement {
  const plain = fold(text);
  const { likely } = languagesOf(plain, language);
  const lexemes = likely
    .slice(0, language === "und" ? likely.length : 1)
    .flatMap((each) => lexemesOf(plain, lexiconOf(each)))
    .filter(({ meanings }) => meanings.size > 0);
  const meaningsAt = (at: number) => lexemes.filter(({ start, end }) => start <= at && at < end);
  const means = (name: string) => lexemes.some(({ meanings }) => meanings.has(name));
  const stopWords = stopWordsOf(language);
  const names = CAPITALISED_NOUNS.test(language) ? new Set<string>() : namesIn(text);
  const changeWords = new Set(lexemes.flatMap((each) => (each.meanings.has("change") ? [each.text] : [])));
  // the time of a change is not the new value: "moved to Geneva last week"
  const when = changeWords.size === 0 ? null : relativeTimeIn(plain, language);
  const words: StatementWord[] = [];
  let end = 0; // of the last word
  let before = "";
  for (const { word: written, at } of wordsOf(plain)) {
    const word = bare(written, words.at(-1)?.kind === "number");
    const meanings = new Set(meaningsAt(at + written.indexOf(word)).flatMap((lexeme) => [...lexeme.meanings]));
    const found = kindOf(word, text, meanings, names);
    // "note number 5" is another note than number 4
    const kind = found === "number" && SERIAL.test(before) ? "mark" : found;
    before = written;
    if (when !== null && kind !== "time" && when.start <= at && at < when.end) continue;
    if (
      kind === "word" &&
      ((stopWords.has(word) && !CONTRASTS.has(word)) ||
        PARTICLE.test(word) ||
        [...meanings].some((name) => SKIPPED.has(name)))
    )
      continue;
    const last = words.at(-1);
    const isSameFigure = kind === "number" && last?.kind === "number" && /^\s$/u.test(plain.slice(end, at));
    end = at + written.length;
    // a telephone number in groups
    if (isSameFigure) words[words.length - 1] = { word: last.word + word, stem: last.stem + word, kind };
    else words.push({ word, stem: stemOf(word), kind });
  }
  const [first, second, third, ...rest] = words;
  // "bus 4 leaves on Monday at 8" is about another bus than "bus 7"
  const isUnspaced = UNSPACED_TEXT.test(plain);
  const isSubject = isVerb(third) || (isUnspaced && third?.kind === "time");
  if (first?.kind === "word" && second?.kind === "number" && isSubject && [third, ...rest].some(isValue)) {
    words[1] = { ...second, kind: "mark" };
  }
  return {
    words,
    changeWords,
    isEnd: END.test(plain),
    namesDay: [...MOMENTS].some(means),
    isOccasion: OCCASION.test(plain),
    isPast: means("past"),
    isIndefinite: (INDEFINITE[language.split("-", 1)[0] ?? ""] ?? NEVER).test(plain),
    isUnspaced,
    isQuestion: /[?？؟]\s*$/u.test(plain),
  };
}

const AMOUNT = wordOfKind("unit", "currency", "time of day");

/** Whether a word behind a number is none of these: unit, currency, time of day. */
function isVerb(word: StatementWord | undefined): boolean {
  return word?.kind === "word" && !AMOUNT.test(` ${word.word} `);
}

function isValue(word: StatementWord | undefined): boolean {
  return word?.kind === "number" || word?.kind === "code" || word?.kind === "time";
}

const SKIPPED: ReadonlySet<string> = new Set(["change", "now", "day-2", "day-1", "day+0", "day+1", "day+2", "this"]);

function kindOf(word: string, text: string, meanings: ReadonlySet<string>, names: ReadonlySet<string>): WordKind {
  if (/\p{Nd}/u.test(word)) return /^\p{L}+[-_]?\p{Nd}/u.test(word) ? "code" : "number";
  if ([...meanings].some((name) => /^(?:weekday|month)\d/.test(name))) return "time";
  if (isMark(word, text)) return "mark";
  return names.has(word) ? "name" : "word";
}

const UNSPACED_TEXT = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Hangul}]/u;
/** Counters, such as for hours, days and rooms, in Chinese, Japanese and Korean, with what is written behind them. */
const COUNTER = /^(時|时|点|分|日|号|號|月|年|歳|岁|人|円|元|回|階|楼|室|시|분|일|월|년|명|원|호|층).+$/u;

/** The word without endings such as "'s" (`bareWord`); of a counter behind a number, only the counter: 時 of 時に. */
function bare(word: string, followsNumber = false): string {
  if (followsNumber && COUNTER.test(word)) return word.replace(COUNTER, "$1");
  return bareWord(word);
}

const UNSPACED = "\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Hangul}";

/** Whether a word is a single capital letter within the text. */
function isMark(word: string, text: string): boolean {
  if (!/^[\p{Script=Latin}\p{Script=Cyrillic}]$/u.test(word) || word === "i") return false;
  const mark = `(?<=[^\\p{L}'’.]|[${UNSPACED}])${word.toUpperCase()}(?!['’.])(?=$|[^\\p{L}]|[${UNSPACED}])`;
  return new RegExp(mark, "u").test(text);
}

/** Words with a capital letter that do not begin a sentence. */
function namesIn(text: string): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [, word] of text.matchAll(/(?<=[\p{L}\p{N},;'’)”"]\s+["“„«(]?)(\p{Lu}[\p{L}\p{M}'’-]+)/gu)) {
    if (word !== undefined) for (const { word: each } of wordsOf(fold(word))) names.add(bare(each));
  }
  return names;
}

/** The words of a folded text with their places. Parts of a number, a time or a code are one word. */
function* wordsOf(plain: string): Generator<{ readonly word: string; readonly at: number }> {
  let joined: { word: string; at: number } | null = null;
  let joiner = "";
  for (const { segment, index, isWordLike } of segmenter.segment(plain)) {
    if (isWordLike) {
      const isCode = /\p{Nd}/u.test(segment) || (joined !== null && /\p{Nd}/u.test(joined.word));
      if (joined !== null && joiner !== "" && joined.at + joined.word.length + joiner.length === index && isCode) {
        joined.word += joiner + segment;
      } else {
        if (joined !== null) yield joined;
        joined = { word: segment, at: index };
      }
      joiner = "";
    } else if (joined !== null && joiner === "" && JOINER.test(segment)) joiner = segment;
    else joiner = " ".repeat(9);
  }
  if (joined !== null) yield joined;
}
