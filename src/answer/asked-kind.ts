// Recognises the kind of answer that a question asks for, such as a phone number, a price or an age, in 16 languages.
// kind-evidence.ts finds answers of these kinds in texts. Word list: data/words/asked-kinds.txt.

import askedKindList from "../../data/words/asked-kinds.txt" with { type: "text" };
import { parseWordList } from "../words/word-lists.ts";
import { anyOf, spacedWords } from "../words/word-patterns.ts";

/** The kinds of answers, in the order in which a question is tested for them. The first one that fits counts. */
export const ANSWER_KINDS = [
  "email",
  "phone",
  "password",
  "plate",
  "birthday",
  "age",
  "surname",
  "first name",
  "year",
  "weekday",
  "time",
  "price",
  "measure",
  "address",
  "breed",
  "number",
  "colour",
  "date",
  "name",
] as const;
/** A kind of answer. `number`: a code or number of something; `measure`: a size, weight or distance. */
export type AnswerKind = (typeof ANSWER_KINDS)[number];

/** Maximum number of words of a question that names the kind without a question word, such as "phone number of Ida". */
const KEYWORDS_MAX = 7;
/** Maximum number of words between "what is" and the noun that it asks for. */
const ASKED_NOUN_WORDS_MAX = 6;

const WORDS = parseWordList(askedKindList);

/** The words of one section of asked-kinds.txt; empty if there is no such section. */
export function askedKindWords(section: string): readonly string[] {
  return WORDS.get(section) ?? [];
}

const anyOfSection = (section: string) => anyOf(askedKindWords(section));
const QUESTION_WORD = new RegExp(anyOfSection("question words"), "u");
const ASK_WORD = new RegExp(anyOfSection("ask"), "u");
/**
 * Words such as "what is" that ask for a noun, with the space before them. They do not count as question words,
 * although "wie lautet" begins with one.
 */
const ASK_WORDS = new RegExp(` ${anyOfSection("ask")}`, "gu");
const YES_OR_NO = new RegExp(`^${anyOf(askedKindWords("yes or no")).replace("(?<= )", " ")}`, "u");

/** Patterns that recognise the questions for one kind of answer. */
interface Cues {
  readonly kind: AnswerKind;
  /** Words that ask for the kind by themselves. */
  readonly direct: RegExp;
  /** A noun of the kind after "what is". */
  readonly afterAsk: RegExp;
  /** A noun of the kind at the end, or before a question word at the end, as in Turkish, Hindi or Japanese. */
  readonly atEnd: RegExp;
  /** A noun of the kind at the beginning, followed by a preposition. */
  readonly atStart: RegExp;
}

const CUES: readonly Cues[] = ANSWER_KINDS.map((kind) => {
  const noun = anyOfSection(`${kind} noun`);
  const startWords = anyOfSection(`${kind} start`);
  return {
    kind,
    direct: new RegExp(anyOfSection(kind), "u"),
    afterAsk: new RegExp(`${anyOfSection("ask")}(?: [^ ]+){0,${ASKED_NOUN_WORDS_MAX}}? ?${noun}`, "u"),
    atEnd: new RegExp(`${noun} ?(?:${anyOfSection("endings")} ?)*$`, "u"),
    atStart: new RegExp(`^ (?:${noun} (?:${anyOfSection("of")}|$|(?=\\p{Script=Cyrillic}))|${startWords} )`, "u"),
  };
});

/** Maximum length of a question that is searched for a kind, in UTF-16 code units. The rest is ignored. */
export const KIND_UNITS_MAX = 2_000;

/** The kind of answer that a question asks for; null if it is unknown. Questions for yes or no have no kind. */
export function askedKind(question: string): AnswerKind | null {
  const words = spacedWords(question.slice(0, KIND_UNITS_MAX));
  if (YES_OR_NO.test(words)) return null;
  const hasQuestionWord = QUESTION_WORD.test(words.replace(ASK_WORDS, ""));
  const isShort = words.trim().split(" ").length <= KEYWORDS_MAX;
  const found = CUES.find(({ direct, afterAsk, atEnd, atStart }) => {
    if (direct.test(words)) return true;
    if (hasQuestionWord) return false;
    if (afterAsk.test(words)) return true;
    return isShort && (atEnd.test(words) || (!ASK_WORD.test(words) && atStart.test(words)));
  });
  return found?.kind ?? null;
}
