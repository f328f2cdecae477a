// Where sentences end, and where a piece of text may be cut when it is too long to stay whole.

/** A range `[start, end)` of a text in UTF-16 units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Longest stretch handed to the segmenter at once, so that a paragraph of 100 MB is never copied whole. */
const STRETCH_UNITS_MAX = 32_768;
/** How far back from the end of a stretch white space is looked for. */
const STRETCH_SLACK_UNITS = 2_048;
/** What is looked at before a cut to find the end of a word where no white space is: more than a word of any language. */
const WORD_UNITS_MAX = 96;

/**
 * Words with a full stop behind which a sentence goes on, lower case, without the stop. Only such as hardly ever end one.
 * Single letters (initials, `z. B.`, `e. g.`) are recognised by their length.
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
const wordSegmenter = new Intl.Segmenter(undefined, { granularity: "word" });
const graphemeSegmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/**
 * The sentences of `content[start, end)` in order; together they cover it. A line break alone ends no sentence, since
 * text may be wrapped by hand; neither does an abbreviation. Linear; copies at most 32,768 units at a time, and a
 * sentence that is longer is given in parts.
 */
export function* sentencesOf(content: string, start: number, end: number): Generator<Span> {
  for (let at = start; at < end; ) {
    const stretchEnd = stretchEndOf(content, at, end);
    // Unicode's rules end a sentence at every line break; a space in its place keeps all offsets.
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

/**
 * The best place to cut `content` in `(start, end]`: behind the last white space of its second half, else behind the
 * last word, else behind the last grapheme, else behind a code point. Always more than `start`, when `end` is.
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

/** Whether a cut at `at` would part the two halves of one code point. */
export function splitsPair(content: string, at: number): boolean {
  return (content.charCodeAt(at) & 0xfc00) === 0xdc00 && (content.charCodeAt(at - 1) & 0xfc00) === 0xd800;
}

/** `[start, end)` without the white space at both ends; empty when there is nothing else. */
export function trimmed(content: string, start: number, end: number): Span {
  while (start < end && isSpace(content.charCodeAt(start))) start++;
  while (end > start && isSpace(content.charCodeAt(end - 1))) end--;
  return { start, end };
}

/** White space as `String.prototype.trim` has it (ECMA-262, WhiteSpace and LineTerminator). */
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
