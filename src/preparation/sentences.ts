// Splits a text into sentences.

import { splitsPair } from "../kit/surrogates.ts";
import { isSpace } from "../kit/text-cut.ts";
import { endsInAbbreviation } from "../words/abbreviations.ts";

/** A range `[start, end)` of a text in UTF-16 code units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * Maximum length, in UTF-16 code units, of the text passed to the segmenter at once, so that a paragraph of 100 MB is
 * never copied as a whole.
 */
const STRETCH_UNITS_MAX = 32_768;
/**
 * Number of UTF-16 code units at the end of a stretch in which white space is searched for, so that the stretch ends
 * between two words.
 */
const STRETCH_SLACK_UNITS = 2_048;
/** Number of UTF-16 code units on either side of a full stop that are looked at. Abbreviations are shorter. */
const AROUND_UNITS = 32;

const sentenceSegmenter = new Intl.Segmenter(undefined, { granularity: "sentence" });

/**
 * The sentences of `content[start, end)` in order; together they cover the range. A line break alone does not end a
 * sentence, because a text may be wrapped by hand. An abbreviation does not end one either. Takes linear time and
 * copies at most 32,768 code units at a time. A sentence that does not fit into such a stretch is returned in parts.
 */
export function* sentencesOf(content: string, start: number, end: number): Generator<Span> {
  for (let at = start; at < end; ) {
    const stretchEnd = stretchEndOf(content, at, end);
    // Unicode's rules end a sentence at every line break. So line breaks are replaced by spaces, which keeps all
    // offsets.
    const stretch = content.slice(at, stretchEnd).replace(/[\n\r\u0085\u2028\u2029]/g, " ");
    let sentenceStart = 0;
    for (const { segment, index } of sentenceSegmenter.segment(stretch)) {
      const segmentEnd = index + segment.length;
      const before = segment.slice(-AROUND_UNITS);
      const after = stretch.slice(segmentEnd, segmentEnd + AROUND_UNITS);
      if (after !== "" && endsInAbbreviation(before, after)) continue;
      yield { start: at + sentenceStart, end: at + segmentEnd };
      sentenceStart = segmentEnd;
    }
    at = stretchEnd;
  }
}

/** The range `[start, end)` without the white space at both ends; empty if it contains only white space. */
export function trimmed(content: string, start: number, end: number): Span {
  while (start < end && isSpace(content.charCodeAt(start))) start++;
  while (end > start && isSpace(content.charCodeAt(end - 1))) end--;
  return { start, end };
}

function stretchEndOf(content: string, start: number, end: number): number {
  if (end - start <= STRETCH_UNITS_MAX) return end;
  const latest = start + STRETCH_UNITS_MAX;
  for (let at = latest; at > latest - STRETCH_SLACK_UNITS; at--) if (isSpace(content.charCodeAt(at - 1))) return at;
  return splitsPair(content, latest) ? latest - 1 : latest;
}
