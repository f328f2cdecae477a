// Whether a query asks for the present or for an earlier state, by the words of its language.

import { fold } from "../../kit/fold.ts";
import { type Lexeme, languagesOf, lexemesOf, lexiconOf, type TimeLanguage } from "./lexicon.ts";

/** The state that a query asks for: that of the present, or an earlier one. */
export type AskedTense = "present" | "past";

/** Words of age ("how old is she"), in which "old" does not mean "former". */
const AGE = /\bhow old\b|\bold (?:is|are|am)\b|\bwie alt\b|\bhoe oud\b|\byears? old\b|\bquel age\b/;

/** Verb forms of the past that need no list: "who visited" without "is", and "habe … gewohnt". */
const PAST_FORMS: readonly {
  readonly language: TimeLanguage;
  readonly verb: RegExp;
  readonly auxiliary: RegExp;
  /** Whether the form is not one of the past if the auxiliary is there. */
  readonly excludes?: boolean;
}[] = [
  {
    language: "en",
    verb: /[a-z]{2}ed(?![a-z])/,
    auxiliary: /\b(?:is|are|am|do|does|has|have|be|get|gets)\b/,
    excludes: true,
  },
  {
    language: "de",
    verb: /(?<!\p{L})(?:\p{L}{2,5})?ge\p{L}{2,}(?:t|en)(?!\p{L})/u,
    auxiliary: /\b(?:habe|hab|hast|hat|haben|habt|bin|bist|sind|ist|seid)\b/,
  },
];

/**
 * The state that a query asks for. A word such as "now" asks for the present, and a past tense or a word such as
 * "formerly" for the past. Without either, a query asks for the present: "what is my address", "gate code".
 * @param language of the query, BCP 47; `und` if unknown
 */
export function askedTense(query: string, language: string): AskedTense {
  return tenseOf(query, language, () => true);
}

/**
 * Whether a query asks for an earlier state, as "where was it before?" does. "What to buy before the trip?" does not:
 * there, the word says what comes later.
 * @param language of the query, BCP 47; `und` if unknown
 */
export function asksEarlierState(query: string, language: string): boolean {
  const stands = (lexeme: Lexeme, next: Lexeme | undefined) => !means(lexeme, "before") || next === undefined;
  return tenseOf(query, language, stands) === "past";
}

/** @param counts whether a word of the past counts as one; it also gets the word after it */
function tenseOf(
  query: string,
  language: string,
  counts: (lexeme: Lexeme, next: Lexeme | undefined) => boolean,
): AskedTense {
  const text = fold(query.slice(0, 1_000));
  const { likely } = languagesOf(text, language);
  const ofEach = likely.map((each) => lexemesOf(text, lexiconOf(each)));
  if (ofEach.flat().some((lexeme) => means(lexeme, "now"))) return "present";
  const isAge = AGE.test(text);
  const isPast = (lexeme: Lexeme, next: Lexeme | undefined) =>
    means(lexeme, "past") && !(isAge && lexeme.text === "old") && counts(lexeme, next);
  if (ofEach.some((lexemes) => lexemes.some((lexeme, at) => isPast(lexeme, lexemes[at + 1])))) return "past";
  return likely.some((each) => hasPastForm(text, each)) ? "past" : "present";
}

/** Whether a folded text has a verb form of the past that is not in the word list. */
export function hasPastForm(text: string, language: TimeLanguage): boolean {
  return PAST_FORMS.some(({ language: of, verb, auxiliary, excludes = false }) => {
    return of === language && auxiliary.test(text) !== excludes && verb.test(text);
  });
}

function means({ meanings }: Lexeme, meaning: string): boolean {
  return meanings.has(meaning);
}
