// Finds the place to cut a piece of text that is too long: between words if possible, never within a code point.

import { splitsPair } from "./surrogates.ts";

/**
 * Number of UTF-16 code units before and after the cut that are segmented to find the end of a word if there is no
 * white space. Words of every language are shorter.
 */
const WORD_UNITS_MAX = 96;

const wordSegmenter = new Intl.Segmenter(undefined, { granularity: "word" });
const graphemeSegmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/**
 * The best place in `(start, end]` to cut `content`: after the last white space in the second half, otherwise after the
 * last word, otherwise after the last grapheme, otherwise after a code point. The result is greater than `start` if
 * `end` is.
 */
export function cutBefore(content: string, start: number, end: number): number {
  if (end >= content.length || isSpace(content.charCodeAt(end))) return end;
  const earliest = start + ((end - start) >> 1);
  for (let at = end; at > earliest; at--) if (isSpace(content.charCodeAt(at - 1))) return at;

  const from = Math.max(start, end - WORD_UNITS_MAX);
  const around = content.slice(from, Math.min(content.length, end + WORD_UNITS_MAX));
  for (const segmenter of [wordSegmenter, graphemeSegmenter]) {
    let best = 0;
    for (const { index } of segmenter.segment(around)) {
      if (from + index > end) break;
      best = index;
    }
    if (best > 0) return from + best;
  }
  return end - start > 1 && splitsPair(content, end) ? end - 1 : end;
}

/**
 * Whether a UTF-16 code unit is white space that `String.prototype.trim` removes (ECMA-262, WhiteSpace and
 * LineTerminator).
 */
export function isSpace(unit: number): boolean {
  if (unit <= 0x20) return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
  if (unit < 0xa0) return false;
  return (
    unit === 0xa0 ||
    unit === 0x1680 ||
    (unit >= 0x2000 && unit <= 0x200a) ||
    unit === 0x2028 ||
    unit === 0x2029 ||
    unit === 0x202f ||
    unit === 0x205f ||
    unit === 0x3000 ||
    unit === 0xfeff
  );
}
