// Finds the citations `[n]` in the text of a complete answer.

import { codePointsOf } from "../kit/code-points.ts";

/** A citation in a text. */
export interface CitationPlace {
  /** Number of the source, from 1. */
  readonly number: number;
  /** Range of the mark in code points, end exclusive. */
  readonly start: number;
  readonly end: number;
}

const MARK = /\[(\d{1,3})\]/g;
/** A line that opens or closes a fenced code block. */
const FENCE = /^[\s>]*(?:(?:[-*+]|\d{1,9}[.)])\s+)?(`{3,}|~{3,})/;
/** Inline code on one line; it is as short as citation-renumbering.ts requires. */
const INLINE_CODE = /(?<!`)(`{1,64})(?!`)[^\n]{1,256}?(?<!`)\1(?!`)/g;

/**
 * The citations of an answer, in the order of the text.
 * @param sources number of cited sources; other numbers are no citations
 * @param hasCode whether the text may contain Markdown code, in which nothing is a citation: a language model wrote it
 */
export function citationPlaces(
  text: string,
  sources: number,
  { hasCode }: { readonly hasCode: boolean },
): readonly CitationPlace[] {
  const places: CitationPlace[] = [];
  let units = 0;
  let points = 0;
  for (const { 0: mark, 1: digits, index } of (hasCode ? withoutCode(text) : text).matchAll(MARK)) {
    const number = Number(digits);
    if (number < 1 || number > sources) continue;
    points += codePointsOf(text.slice(units, index));
    units = index;
    places.push({ number, start: points, end: points + mark.length });
  }
  return places;
}

/** The text with all code replaced by blanks, so that everything else keeps its place. */
function withoutCode(text: string): string {
  let fence: string | null = null;
  return text
    .split("\n")
    .map((line) => {
      const run = FENCE.exec(line)?.[1] ?? null;
      const isCode = fence !== null || run !== null;
      if (fence === null) fence = run;
      else if (run?.startsWith(fence)) fence = null;
      return isCode ? blank(line) : line.replace(INLINE_CODE, blank);
    })
    .join("\n");
}

function blank(code: string): string {
  return " ".repeat(code.length);
}
