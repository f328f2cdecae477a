// What must stand before a quote, so that it is understood outside its passage: who says it and when, or what its first
// "it" is.

import type { RankedPassage } from "../domain/ranking.ts";

/** A longer title explains nothing at a glance. */
const TITLE_UNITS_MAX = 80;

/**
 * Personal and possessive pronouns of the languages of the largest shares of the web, where a sentence begins with one.
 */
const PRONOUN_FIRST =
  /^["'“„«(]*(?:(?:s?he|it|they|his|hers?|its|their|er|sie|es|seine?|ihre?|elles?|ils?|él|ellas?|ellos|egli|lui|lei|eles?|elas?|hij|zij|zijn|он|она|оно|они|его|её|их)(?![\p{L}\p{M}'’])|他|她|它|彼(?!岸))/iu;

/**
 * What stands before a sentence of `passage` when it is quoted: empty, or text that ends with a space. A turn's later
 * sentence gets its speaker; asked when, its day too. A sentence that begins with a pronoun gets the title that its
 * memory was given, where it does not say it.
 * @param text the sentence as it is quoted, the first of this passage in a row.
 */
export function leadOf(text: string, passage: RankedPassage, asksWhen: boolean): string {
  const { turn } = passage.place;
  if (turn !== undefined) {
    const isLabelled = turn.labelUnits > 0 && text.startsWith(passage.text.slice(0, turn.labelUnits).trim());
    const day = asksWhen && turn.date !== null ? `(${turn.date}) ` : "";
    return quotable(`${day}${isLabelled || turn.speaker === null ? "" : `${turn.speaker}: `}`);
  }
  const { title, given } = passage.memory;
  if (title === null || title.length > TITLE_UNITS_MAX || !given.includes("title")) return "";
  return PRONOUN_FIRST.test(text) && !text.includes(title) ? quotable(`${title}: `) : "";
}

// On one line, and nothing in it reads as a citation: whatever bracket a title has is a round one.
function quotable(lead: string): string {
  return lead
    .replace(/\s+/g, " ")
    .replace(/[[［【]/g, "(")
    .replace(/[\]］】]/g, ")");
}
