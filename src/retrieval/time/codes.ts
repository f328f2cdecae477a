// Removes numbers that look like dates and years but are something else, so that the grammar of times does not read
// them: versions, addresses, part numbers, telephone numbers, room numbers, amounts.

import type { Lexeme } from "./lexicon.ts";
import type { FoundDate } from "./numeric-dates.ts";

/** Chains of digits with separators, such as 10.1.20.24 and 14-03-2025-77. */
const CHAIN = /(?<!\d)\d+(?:[.:/-]\d+){2,}/g;
/** Letters and digits in one, such as v1.2.2024, E2024 and AB-2024. */
const MIXED = /(?<!\p{L})\p{Script=Latin}{1,5}-?\d{4,}(?:[.:/-]\d+)*|\d{3,}-?\p{Script=Latin}{1,2}\d+/gu;
const TELEPHONE = /\+\d[\d\s/-]{6,}\d/g;
/** A number and what is joined to it, at the beginning of a text. */
const DOTTED = /^\d+(?:[.:/-]\w+)*/;
/** Amounts of money with a sign. */
const MONEY = /[$€£¥₹₩]\s?\d[\d.,]*|\d[\d.,]*\s?[$€£¥₹₩]/g;
/** Maximum distance between a word such as "room" and its number, in UTF-16 code units: ": " and " #". */
const LABEL_DISTANCE = 3;

/**
 * The lexemes and dates of a text. Lexemes that are part of a code lose their numeric value, and dates that are part of
 * one are left out.
 */
export function withoutCodes(
  text: string,
  lexemes: readonly Lexeme[],
  dates: readonly FoundDate[],
): { readonly lexemes: readonly Lexeme[]; readonly dates: readonly FoundDate[] } {
  if (!/\d/.test(text)) return { lexemes, dates };
  const codes = codesIn(text, lexemes, dates);
  if (codes.length === 0) return { lexemes, dates };
  const isCode = ({ start, end }: { start: number; end: number }) =>
    codes.some((code) => start < code.end && code.start < end);
  return {
    lexemes: lexemes.map((lexeme) => (lexeme.digits !== null && isCode(lexeme) ? { ...lexeme, digits: null } : lexeme)),
    dates: dates.filter((date) => !isCode(date)),
  };
}

interface Range {
  readonly start: number;
  readonly end: number;
}

function codesIn(text: string, lexemes: readonly Lexeme[], dates: readonly FoundDate[]): readonly Range[] {
  const rangesOf = (pattern: RegExp) =>
    Array.from(text.matchAll(pattern), ({ index, 0: match }) => ({ start: index, end: index + match.length }));
  const isDate = ({ start, end }: Range) => dates.some((date) => date.start === start && date.end === end);
  // "mid-2023" begins with a word for time.
  const isTime = ({ start }: Range) => lexemes.some((lexeme) => lexeme.start === start && lexeme.meanings.size > 0);
  const codes = [
    ...rangesOf(CHAIN).filter((range) => !isDate(range)),
    ...rangesOf(MIXED).filter((range) => !isTime(range)),
    ...rangesOf(TELEPHONE),
    ...rangesOf(MONEY),
  ];
  for (const [at, lexeme] of lexemes.entries()) {
    if (lexeme.digits === null) continue;
    const [before, after] = [lexemes[at - 1], lexemes[at + 1]];
    const isLabelled = before?.meanings.has("label") && lexeme.start - before.end <= LABEL_DISTANCE;
    const isMeasured = after?.meanings.has("measure");
    const chain = isLabelled ? (DOTTED.exec(text.slice(lexeme.start))?.[0].length ?? 0) : 0;
    if (isLabelled || isMeasured) codes.push({ start: lexeme.start, end: Math.max(lexeme.end, lexeme.start + chain) });
  }
  return codes;
}
