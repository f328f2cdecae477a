// Where the sentences of a passage begin and end, and how each reads when it is quoted alone. Which of them answer a
// question is for extract.ts and excerpt.ts to say.

import { withoutCitations } from "./citation-marks.ts";

/** What is looked at around a cut to find where a word begins: more than a word of any language. */
const WORD_UNITS_MAX = 96;
/** A line at least this long was wrapped by hand; a shorter one ends its sentence: a turn, a row, a heading. */
const WRAPPED_LINE_UNITS_MIN = 40;

const sentenceSegmenter = new Intl.Segmenter(undefined, { granularity: "sentence" });
const wordSegmenter = new Intl.Segmenter(undefined, { granularity: "word" });
const graphemeSegmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

const LINE_BREAK = /\r\n|[\n\r\u0085\u2028\u2029]/;
/** What Markdown puts before a line: heading, quotation, item, row. */
const LINE_MARKS = /^\s*(?:(?:#{1,6}|>|[-*+•◦‣]|\d{1,3}[.)])\s+|\|\s*)+/;
/** Rules, underlines, rows between a table's head and body, fences. */
const ORNAMENT = /^(?:[\s|:=_*~+-]*|`{3,}[^`]*|~{3,}.*)$/;
const HAS_SUBSTANCE = /[\p{L}\p{N}\p{Extended_Pictographic}]/u;
/** A full stop behind these, a single letter or `p.m.` ends no sentence. */
const ABBREVIATION_END =
  /(?<![\p{L}\p{M}])(?:(?:\p{L}\.)*\p{L}|dr|prof|mr|mrs|ms|st|jr|sr|gen|col|rev|vs|cf|fig|eq|no|nr|vol|pp|ca|approx|bzw|vgl|usw|z\.b|sra?|mme|рис|стр|им)\.\s*$/iu;
/** Scripts written without spaces: a line break between two such characters stands for nothing. */
const UNSPACED_BREAK =
  /(?<=[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}])\n(?=[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}])/gu;

/** The sentences of a passage as they can be quoted, in order, each on one line. Linear. */
export function* sentencesOf(passage: string): Generator<string, void, undefined> {
  for (const block of blocksOf(passage)) {
    const line = withoutCitations(block.replace(UNSPACED_BREAK, "").replace(/\s+/g, " "));
    let sentence = "";
    for (const { segment } of sentenceSegmenter.segment(line)) {
      sentence += segment;
      if (ABBREVIATION_END.test(sentence.slice(-WORD_UNITS_MAX))) continue;
      if (HAS_SUBSTANCE.test(sentence)) yield sentence.trim();
      sentence = "";
    }
    if (HAS_SUBSTANCE.test(sentence)) yield sentence.trim();
  }
}

// Lines that belong together, without what Markdown puts before them.
function* blocksOf(passage: string): Generator<string, void, undefined> {
  let block: string[] = [];
  for (const line of passage.split(LINE_BREAK)) {
    const isOrnament = ORNAMENT.test(line);
    const goesOn = !isOrnament && (block.at(-1) ?? "").length >= WRAPPED_LINE_UNITS_MIN && !LINE_MARKS.test(line);
    if (!goesOn) {
      yield block.join("\n");
      block = [];
    }
    if (!isOrnament) block.push(withoutMarks(line));
  }
  yield block.join("\n");
}

function withoutMarks(line: string): string {
  const marks = LINE_MARKS.exec(line)?.[0] ?? "";
  const rest = line.slice(marks.length).trimEnd();
  return marks.includes("|") && rest.endsWith("|") ? rest.slice(0, -1).trimEnd() : rest;
}

/**
 * Where the word around `at` begins, where the grapheme does in a word without end, else `at` between two characters.
 */
export function wordStartBefore(text: string, at: number): number {
  const from = Math.max(0, at - WORD_UNITS_MAX);
  const around = text.slice(from, at + WORD_UNITS_MAX);
  for (const segmenter of [wordSegmenter, graphemeSegmenter]) {
    const index = segmenter.segment(around).containing(at - from)?.index ?? 0;
    if (index > 0) return from + index;
  }
  return /[\udc00-\udfff]/.test(text.charAt(at)) ? at - 1 : at;
}

/** A range `[start, end)` of a text in UTF-16 units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** The sentences of a passage as they stand in it, in order, without the white space around them. Linear. */
export function* sentenceSpans(passage: string): Generator<Span, void, undefined> {
  for (const { start, end } of blockSpans(passage)) {
    // Unicode's rules end a sentence at every line break; a space in its place keeps all offsets
    const block = passage.slice(start, end).replace(/[\n\r\u0085\u2028\u2029]/g, " ");
    if (!/\S/.test(block)) continue;
    let from = 0;
    for (const { segment, index } of sentenceSegmenter.segment(block)) {
      const to = index + segment.length;
      if (to < block.length && ABBREVIATION_END.test(block.slice(Math.max(from, to - WORD_UNITS_MAX), to))) continue;
      const lead = block.slice(from, to).search(/\S/);
      if (lead >= 0) yield { start: start + from + lead, end: start + from + block.slice(from, to).trimEnd().length };
      from = to;
    }
  }
}

// Lines that belong together, with all that stands in them.
function* blockSpans(passage: string): Generator<Span, void, undefined> {
  let start = 0;
  let previous = 0;
  for (const { 0: found, index } of passage.matchAll(/.*(?:\r\n|[\n\r\u0085\u2028\u2029]|$)/g)) {
    const goesOn = previous >= WRAPPED_LINE_UNITS_MIN && !LINE_MARKS.test(found) && !ORNAMENT.test(found.trimEnd());
    if (!goesOn) {
      if (index > start) yield { start, end: index };
      start = index;
    }
    previous = found.trimEnd().length;
  }
  if (start < passage.length) yield { start, end: passage.length };
}
