// The prefix of a quoted sentence that makes it understandable outside its passage: speaker of a turn, day of a turn or
// note, or the title that a leading pronoun refers to.

import type { RankedPassage } from "../domain/ranking.ts";
import { isStatement } from "../retrieval/mark-replaced.ts";

/** The day with which a time of the API begins. */
const DAY_GIVEN = /^\d{4}-\d{2}-\d{2}/;
/** Maximum length of a title that is used as a prefix, in UTF-16 code units. */
const TITLE_UNITS_MAX = 80;

/** A personal or possessive pronoun at the beginning of a sentence, in widely used languages. */
const PRONOUN_FIRST =
  /^["'“„«(]*(?:(?:s?he|it|they|his|hers?|its|their|er|sie|es|seine?|ihre?|elles?|ils?|él|ellas?|ellos|egli|lui|lei|eles?|elas?|hij|zij|zijn|он|она|оно|они|его|её|их)(?![\p{L}\p{M}'’])|他|她|它|彼(?!岸))/iu;

/**
 * The prefix for a sentence of `passage`: empty, or text that ends with a space. A sentence of a turn gets the speaker,
 * unless it begins with the speaker, and the day if the question asks when. So does a sentence of a note whose day the
 * caller gave, unless it has a number, which may be its day. A sentence that begins with a pronoun gets the title that
 * the caller gave its memory, unless it contains that title.
 * @param text the quoted sentence, the first one of this passage in a row
 */
export function quotePrefix(text: string, passage: RankedPassage, asksWhen: boolean): string {
  const { turn } = passage.place;
  if (turn !== undefined) {
    const isLabelled = turn.labelUnits > 0 && text.startsWith(passage.text.slice(0, turn.labelUnits).trim());
    const day = asksWhen && turn.date !== null ? `(${turn.date}) ` : "";
    return sanitised(`${day}${isLabelled || turn.speaker === null ? "" : `${turn.speaker}: `}`);
  }
  const { title, given, occurredAtGiven } = passage.memory;
  const isUndated = asksWhen && isStatement(passage) && !/\p{Nd}/u.test(text);
  const day = isUndated ? DAY_GIVEN.exec(occurredAtGiven ?? "")?.[0] : undefined;
  const before = day === undefined ? "" : `(${day}) `;
  if (title === null || title.length > TITLE_UNITS_MAX || !given.includes("title")) return before;
  return PRONOUN_FIRST.test(text) && !text.includes(title) ? sanitised(`${before}${title}: `) : before;
}

// The prefix is written on one line and with round brackets only, so that no part of it looks like a citation.
function sanitised(prefix: string): string {
  return prefix
    .replace(/\s+/g, " ")
    .replace(/[[［【]/g, "(")
    .replace(/[\]］】]/g, ")");
}
