// Splits passages into sentences, either as texts for quoting or as spans. sentence-selection.ts and excerpt.ts choose
// among them.

import { withoutCitations } from "./citation-marks.ts";

/**
 * Number of UTF-16 code units that are searched before and behind a position for the beginning of its word. Words of
 * any language are shorter.
 */
const WORD_UNITS_MAX = 96;
/**
 * A line break behind a line of at least this length (UTF-16 code units) is a soft wrap, so the sentence continues. The
 * end of a shorter line (turn, row, heading) ends a sentence.
 */
const WRAPPED_LINE_UNITS_MIN = 40;

const sentenceSegmenter = new Intl.Segmenter(undefined, { granularity: "sentence" });
const wordSegmenter = new Intl.Segmenter(undefined, { granularity: "word" });
const graphemeSegmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

const LINE_BREAK = /\r\n|[\n\r\u0085\u2028\u2029]/;
/** Markdown at the beginning of a line: heading, quotation, list item, table row. */
const LINE_MARKUP = /^\s*(?:(?:#{1,6}|>|[-*+•◦‣]|\d{1,3}[.)])\s+|\|\s*)+/;
/** Lines without text: rules, underlines, separator rows of tables, code fences. */
const DECORATION = /^(?:[\s|:=_*~+-]*|`{3,}[^`]*|~{3,}.*)$/;
const HAS_SUBSTANCE = /[\p{L}\p{N}\p{Extended_Pictographic}]/u;
/** Abbreviations, single letters and forms like `p.m.`, whose full stop does not end a sentence. */
const ABBREVIATION_END =
  /(?<![\p{L}\p{M}])(?:(?:\p{L}\.)*\p{L}|dr|prof|mr|mrs|ms|st|jr|sr|gen|col|rev|vs|cf|fig|eq|no|nr|vol|pp|ca|approx|bzw|vgl|usw|z\.b|sra?|mme|рис|стр|им)\.\s*$/iu;
/** A line break between two characters of scripts without spaces. It is removed and not replaced by a space. */
const UNSPACED_BREAK =
  /(?<=[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}])\n(?=[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}])/gu;

/** The sentences of a passage for quoting, in order, each on one line. Takes linear time. */
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

// Joins soft-wrapped lines and removes Markdown at their beginning.
function* blocksOf(passage: string): Generator<string, void, undefined> {
  let block: string[] = [];
  for (const line of passage.split(LINE_BREAK)) {
    const isDecoration = DECORATION.test(line);
    const continues = !isDecoration && (block.at(-1) ?? "").length >= WRAPPED_LINE_UNITS_MIN && !LINE_MARKUP.test(line);
    if (!continues) {
      yield block.join("\n");
      block = [];
    }
    if (!isDecoration) block.push(withoutMarkup(line));
  }
  yield block.join("\n");
}

function withoutMarkup(line: string): string {
  const markup = LINE_MARKUP.exec(line)?.[0] ?? "";
  const rest = line.slice(markup.length).trimEnd();
  return markup.includes("|") && rest.endsWith("|") ? rest.slice(0, -1).trimEnd() : rest;
}

/**
 * Start of the word that contains the position `at`. In a very long word, it is the start of the grapheme. The result
 * is never inside a surrogate pair.
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

/** A range `[start, end)` of a text in UTF-16 code units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Spans of the sentences of a passage, in order, without surrounding white space. Takes linear time. */
export function* sentenceSpans(passage: string): Generator<Span, void, undefined> {
  for (const { start, end } of blockSpans(passage)) {
    // Unicode's rules end a sentence at every line break. Replacing it by a space keeps all offsets.
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

// Spans of soft-wrapped lines that belong together.
function* blockSpans(passage: string): Generator<Span, void, undefined> {
  let start = 0;
  let previous = 0;
  for (const { 0: found, index } of passage.matchAll(/.*(?:\r\n|[\n\r\u0085\u2028\u2029]|$)/g)) {
    const continues =
      previous >= WRAPPED_LINE_UNITS_MIN && !LINE_MARKUP.test(found) && !DECORATION.test(found.trimEnd());
    if (!continues) {
      if (index > start) yield { start, end: index };
      start = index;
    }
    previous = found.trimEnd().length;
  }
  if (start < passage.length) yield { start, end: passage.length };
}
