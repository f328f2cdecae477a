// Features of a question for sentence selection: its terms, and the kind of answer that it expects (date, number,
// name). The kind is recognised in widely used languages; questions in other languages just get no bonus for it.

import { fold } from "../kit/fold.ts";
import { type PlacedWord, placedWords } from "../retrieval/substitutes.ts";
import { stopWordsOf } from "../words/stop-words.ts";

/** A question, prepared for comparison with sentences. */
export interface QuestionFeatures {
  /** The whole question, folded (see `fold`). */
  readonly folded: string;
  /** BCP 47; `und` if unsure. */
  readonly language: string;
  /** Its words in their order. */
  readonly placed: readonly PlacedWord[];
  readonly terms: ReadonlySet<string>;
  /** The terms by their first `STEM_UNITS_MIN` UTF-16 code units. */
  readonly termsByStem: ReadonlyMap<string, readonly string[]>;
  /** The terms that are no stop words; all terms if there are only stop words. */
  readonly contentTerms: ReadonlySet<string>;
  /** Terms on both sides of an "and": they name two things that are asked for in one question, as in "Lena and Tom". */
  readonly listedTerms: ReadonlySet<string>;
  readonly asksWhen: boolean;
  /** Patterns of the expected kind of answer; empty if the kind is unknown. */
  readonly answerPatterns: readonly RegExp[];
}

/**
 * Minimum length of the common prefix of two forms of a word, such as paint, painted, painting. In UTF-16 code units.
 */
const STEM_UNITS_MIN = 4;
/** Minimum length of the common prefix, as a share of the longer word's length. */
const STEM_SHARE_MIN = 0.57;
/** Strength of a match, 0..1, between two forms of a word. */
const STEM_MATCH = 0.7;

const wordSegmenter = new Intl.Segmenter(undefined, { granularity: "word" });

/** First letters of month names in English, German, French, Spanish, Italian, Portuguese, Dutch and Russian. */
const MONTHS = `jan gen ene янв feb fév фев mar mär мар apr abr avr апр ma[gijy] ма[йя] jun juin giu июн jul juil lug июл
  aug ago août авг sep set сен o[ck]t out ott окт nov ноя de[cz] déc dic дек`;

const NUMBER = /\p{N}+|[〇一二三四五六七八九十百千万億亿兆]+[年月日号號時时点點歳岁回次]/gu;
const DATES: readonly RegExp[] = [
  /\p{N}{4}|\p{N}{1,2}[:./-]\p{N}{1,2}|[\p{N}〇一二三四五六七八九十]+\s?[年月日号號時时点點년월일시]/gu,
  new RegExp(`\\p{N}{1,2}(?:st|nd|rd|th|\\.|º)?\\s(?:of\\s|de\\s)?(?:${MONTHS.split(/\s+/).join("|")})`, "giu"),
  /\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\b/g,
];
/** A capitalised word that is not the first word of a sentence. */
const NAME = /(?<=[\p{L}\p{N},)] )\p{Lu}[\p{L}\p{M}]+/gu;

const WHEN_ASKED = askedPattern(
  `when (?:what|which)\\s(?:year|date|day|month|time)
   wann quand cuándo quando wanneer kiedy когда متى कब 언제 ne\\szaman kapan`,
  "什么时候|什麼時候|何时|何時|几时|いつ|何[年月日時]|เมื่อไหร่|เมื่อไร",
);
const HOW_MANY_ASKED = askedPattern(
  `how\\s(?:many|much|long|old|often|far|tall|big|large|high) (?:what|which)\\s(?:age|number|amount|percentage)
   wie\\s(?:viel|viele|lange|alt|oft|weit|hoch|groß) combien cuánt[oa]s? quant[oaie]s?
   hoeveel ile сколько كم कितने कितना 얼마 kaç berapa`,
  "多少|多久|几[个年月岁天次]|いくつ|いくら|何[人回歳個本枚]|몇|เท่าไหร่|เท่าไร|กี่",
);
/** Questions for a name (who, where), in languages that capitalise names. */
const NAME_ASKED = askedPattern(
  `who whom whose where
   (?:what|which)\\s(?:city|country|state|town|place|person|name|company|band|team|club|school|university)
   (?:what|which)\\s(?:nationality|language|actor|actress|director|author|singer)
   wer wem wen wessen wo woher wohin qui où quién quiénes dónde quem onde chi dove waar kto gdzie
   кто кого где куда откуда kim nerede siapa`,
  "(?!)",
);

// Question words of scripts with spaces must be whole words; those of other scripts may occur anywhere.
function askedPattern(spaced: string, unspaced: string): RegExp {
  return new RegExp(
    `(?<![\\p{L}\\p{M}])(?:${spaced.trim().split(/\s+/).join("|")})(?![\\p{L}\\p{M}])|${unspaced}`,
    "iu",
  );
}

/**
 * Words for "and" by language. Some of them mean something else in another language, so without further signs only
 * those of the question's language count.
 */
export const CONJUNCTIONS: Readonly<Record<string, string>> = {
  ...{ ar: "و", cs: "a", da: "og", de: "und", en: "and", es: "y e", fr: "et", hi: "और", id: "dan", it: "e ed" },
  ...{
    ja: "と や",
    ko: "와 과 랑 및",
    nl: "en",
    pl: "i oraz",
    pt: "e",
    ru: "и",
    sv: "och",
    th: "และ",
    tr: "ve",
    uk: "і та й",
  },
  ...{ vi: "và", zh: "和 与 跟 與", no: "og", fi: "ja", hu: "és", ro: "și si", und: "and und et и と 和" },
};
/** Number of content words on each side of an "and" that count as names of the two things. */
const LISTED_WORDS = 2;

/**
 * Computes the features of a question. Linear in its length.
 * @param language of the question, BCP 47; `und` if unsure
 */
export function questionFeatures(question: string, language = "und"): QuestionFeatures {
  const words = foldedWords(question);
  const terms = new Set(words);
  const termsByStem = Map.groupBy(
    [...terms].filter((term) => term.length >= STEM_UNITS_MIN),
    (term) => term.slice(0, STEM_UNITS_MIN),
  );
  const folded = fold(question);
  const asksWhen = WHEN_ASKED.test(folded);
  const answerPatterns = [
    ...(asksWhen ? DATES : []),
    ...(HOW_MANY_ASKED.test(folded) ? [NUMBER] : []),
    ...(NAME_ASKED.test(folded) ? [NAME] : []),
  ];
  const stopWords = stopWordsOf(language);
  const content = new Set(words.filter((word) => !stopWords.has(word)));
  const contentTerms = content.size === 0 ? terms : content;
  const listedTerms = listedIn(words, language);
  return {
    ...{ language, placed: placedWords({ text: question, language }) },
    folded,
    terms,
    termsByStem,
    contentTerms,
    listedTerms,
    asksWhen,
    answerPatterns,
  };
}

function listedIn(words: readonly string[], language: string): ReadonlySet<string> {
  const stopWords = stopWordsOf(language);
  const conjunctions = new Set((CONJUNCTIONS[language.split("-")[0] ?? ""] ?? CONJUNCTIONS.und ?? "").split(" "));
  const isContent = (word: string) => !stopWords.has(word) && !conjunctions.has(word);
  const listed = words.flatMap((word, at) => {
    if (!conjunctions.has(word)) return [];
    const before = words.slice(0, at).filter(isContent).slice(-LISTED_WORDS);
    const behind = words
      .slice(at + 1)
      .filter(isContent)
      .slice(0, LISTED_WORDS);
    return before.length === 0 || behind.length === 0 ? [] : [...before, ...behind];
  });
  return new Set(listed);
}

/** Whether a sentence contains the expected kind of answer, other than those in the question itself. */
export function hasExpectedAnswer(sentence: string, { answerPatterns, folded }: QuestionFeatures): boolean {
  return answerPatterns.some((pattern) =>
    (sentence.match(pattern) ?? []).some((found) => !folded.includes(fold(found))),
  );
}

/** How well the words match each term of the question, 0..1. Terms without a match are absent. */
export function termMatches(
  words: ReadonlySet<string>,
  { terms, termsByStem }: QuestionFeatures,
): ReadonlyMap<string, number> {
  const matches = new Map<string, number>();
  for (const word of words) {
    if (terms.has(word)) {
      matches.set(word, 1);
      continue;
    }
    for (const term of termsByStem.get(word.slice(0, STEM_UNITS_MIN)) ?? []) {
      if (!matches.has(term) && areForms(word, term)) matches.set(term, STEM_MATCH);
    }
  }
  return matches;
}

/** The words of a text, folded, in their order. Texts in scripts without spaces are split into words, too. */
export function foldedWords(text: string): string[] {
  const words: string[] = [];
  for (const { segment, isWordLike } of wordSegmenter.segment(fold(text))) if (isWordLike) words.push(segment);
  return words;
}

function areForms(left: string, right: string): boolean {
  const longer = Math.max(left.length, right.length);
  let same = STEM_UNITS_MIN;
  while (same < longer && left[same] === right[same]) same++;
  return same >= STEM_SHARE_MIN * longer;
}
