// Splits passages into sentences, rows and items of lists, with their places. sentence-selection.ts and excerpt.ts
// choose among them; lines.ts tells which lines belong together.

import { endsInAbbreviation } from "../words/abbreviations.ts";
import { withoutCitations } from "./citation-marks.ts";
import { blocksOf } from "./lines.ts";

/**
 * Number of UTF-16 code units that are searched before and behind a position for the beginning of its word. Words of
 * any language are shorter.
 */
const WORD_UNITS_MAX = 96;

const sentenceSegmenter = new Intl.Segmenter(undefined, { granularity: "sentence" });
const wordSegmenter = new Intl.Segmenter(undefined, { granularity: "word" });
const graphemeSegmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

const HAS_SUBSTANCE = /[\p{L}\p{N}\p{Extended_Pictographic}]/u;
/** Months of languages that write a dot behind ordinal numbers. */
const MONTH_START =
  /^\p{P}*(?:jan|jän|feb|mär|mar|maa|apr|mai|maj|juni?|juli?|aug|sep|okt|oct|nov|dez|dec|des|kv[eě]|ledn|únor|břez|dubn|červ|srp|září|říj|list|pros|ocak|şubat|mart|nisan|mayıs|haz|tem|ağu|eyl|ekim|kasım|aralık)/iu;
/** A number with a dot, alone or behind an article, a preposition or another ordinal number, as in "im 3. Stock". */
const ORDINAL_END =
  /(?:^|(?<![\p{L}\p{M}])(?:am|im|vom|zum|zur|beim|der|die|das|den|dem|des|eine?[mnrs]?|jede[mnrs]?|diese[mnrs]?|bis|ab|seit|und|oder|mein\w*|dein\w*|sein\w*|ihr\w*|unser\w*)\s+|\d\.\s?[-–/]\s?)\d{1,3}\.\s*$/iu;
const NUMBER_END = /(?<![\p{L}\p{N}.,])\d{1,2}\.\s*$/u;
/** A line break between two characters of scripts without spaces. It is removed and not replaced by a space. */
const UNSPACED_BREAK =
  /(?<=[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}])\n(?=[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}])/gu;

/** A range `[start, end)` of a text in UTF-16 code units. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A sentence, a row or an item of a list, and its place in the passage, without surrounding white space. */
export interface Sentence extends Span {
  /** For quoting: on one line, without Markdown at its beginning; a row of a table with the names of its columns. */
  readonly text: string;
}

/** The sentences of a passage for quoting, in order. Takes linear time. */
export function* sentencesOf(passage: string): Generator<Sentence, void, undefined> {
  for (const block of blocksOf(passage)) {
    if (block.isDecoration) continue;
    if (block.row !== null) {
      if (HAS_SUBSTANCE.test(block.row)) yield { ...trimmed(passage, block), text: withoutCitations(block.row) };
      continue;
    }
    for (const span of spansIn(passage, { start: block.textStart, end: block.textEnd })) {
      const text = passage.slice(span.start, span.end).replace(UNSPACED_BREAK, "").replace(/\s+/g, " ");
      if (HAS_SUBSTANCE.test(text)) yield { ...span, text: withoutCitations(text) };
    }
  }
}

/** Spans of sentences that together cover the whole passage, markup included, in order. Takes linear time. */
export function* sentenceSpans(passage: string): Generator<Span, void, undefined> {
  for (const block of blocksOf(passage)) yield* spansIn(passage, block);
}

function* spansIn(passage: string, { start, end }: Span): Generator<Span, void, undefined> {
  // Unicode's rules end a sentence at every line break. Replacing it by a space keeps all offsets.
  const block = passage.slice(start, end).replace(/[\n\r\u0085\u2028\u2029]/g, " ");
  if (!/\S/.test(block)) return;
  let from = 0;
  for (const { segment, index } of sentenceSegmenter.segment(block)) {
    const to = index + segment.length;
    if (to < block.length && continuesAfter(block.slice(Math.max(from, to - WORD_UNITS_MAX), to), block, to)) continue;
    if (/\S/.test(block.slice(from, to))) yield trimmed(passage, { start: start + from, end: start + to });
    from = to;
  }
}

/** Whether a sentence goes on after a full stop. @param end the last characters before the stop, and the stop */
function continuesAfter(end: string, block: string, at: number): boolean {
  const after = block.slice(at, at + WORD_UNITS_MAX);
  if (endsInAbbreviation(end, after) || ORDINAL_END.test(end)) return true;
  return NUMBER_END.test(end) && MONTH_START.test(after);
}

function trimmed(passage: string, { start, end }: Span): Span {
  const text = passage.slice(start, end);
  return { start: start + (text.length - text.trimStart().length), end: end - (text.length - text.trimEnd().length) };
}

/**
 * Start of the word that contains the position `at`. In a very long word, and in the first word of the text, it is the
 * start of the grapheme. The result is never inside a surrogate pair.
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
