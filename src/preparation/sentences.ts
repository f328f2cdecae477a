// Finds the ends of sentences.

import { isSpace, splitsPair } from "../kit/text-cut.ts";

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
/** A stretch should end at white space, which is searched for in its last code units, as many as this. */
const STRETCH_SLACK_UNITS = 2_048;

/**
 * Abbreviations whose full stop does not end a sentence, in lower case, without the full stop. The list has only
 * abbreviations that rarely stand at the end of a sentence. Single letters (initials, `z. B.`, `e. g.`) are recognised
 * by their length.
 */
const ABBREVIATIONS: ReadonlySet<string> = new Set(
  (
    "dr prof mr mrs ms jr sr st rev hon gen col capt lt sgt gov sen rep messrs mme mlle sra srta dott sig ing dipl " +
    "fig figs eq eqs ref refs no nos nr vol vols pp ch sec sect ed eds al cf vs viz ca approx resp incl excl est " +
    "e.g i.e u.s u.k a.m p.m ph.d z.b d.h u.a s.o v.chr n.chr bzw vgl usw evtl ggf bspw sog str " +
    "jan feb mar apr jun jul aug sep sept oct nov dec okt dez ene abr ago janv févr avr juil art núm pág tel " +
    "т.е т.д т.п г ул им см рис стр"
  ).split(" "),
);

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
      if (segmentEnd < stretch.length && endsInAbbreviation(segment)) continue;
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

function endsInAbbreviation(sentence: string): boolean {
  let end = sentence.length;
  while (end > 0 && isSpace(sentence.charCodeAt(end - 1))) end--;
  if (sentence[end - 1] !== ".") return false;
  const word = /[\p{L}\p{M}.]*$/u.exec(sentence.slice(Math.max(0, end - 12), end - 1))?.[0] ?? "";
  return (
    /^\p{Lu}$/u.test(word) ||
    ABBREVIATIONS.has(word.toLowerCase()) ||
    /^\p{L}$/u.test(word.slice(-2).replace(/^\./, ""))
  );
}
