// What is shown of a text that has no room as a whole: whole sentences, those around what is asked for.

import { type Span, sentenceSpans, wordStartBefore } from "./sentences.ts";
import { comparedWords } from "./words.ts";

const CUT = "…";
/** Bytes of `… ` at the beginning and ` …` at the end. */
const CUT_BYTES = 8;
/** Words that share this much of their beginning count as forms of one word. */
const STEM_UNITS = 5;

/** What is asked for, as sentences are compared with it. */
export type Terms = ReadonlySet<string>;

/** The terms of a question. */
export function termsOf(question: string): Terms {
  return new Set(comparedWords(question).map(stemOf));
}

/**
 * Sentences of `text` in a row, with `…` where some are missing: those with most of the terms that there is room for, the first ones
 * where none has any. null: there is no room for any sentence. Linear in the text.
 * @param bytesMax of UTF-8
 */
export function excerptOf(text: string, terms: Terms, bytesMax: number): string | null {
  const spans = [...sentenceSpans(text)];
  const best = bestRun(text, spans, weightsOf(text, spans, terms), bytesMax - CUT_BYTES);
  if (best === null) return null;
  const lead = best.first === 0 ? "" : `${CUT} `;
  const rest = best.last === spans.length - 1 ? "" : ` ${CUT}`;
  return `${lead}${text.slice(spans[best.first]?.start, spans[best.last]?.end)}${rest}`;
}

/** The beginning of a text as far as there is room: whole sentences, or words where its first sentence is too long. */
export function beginningOf(text: string, bytesMax: number): string {
  if (Buffer.byteLength(text, "utf8") <= bytesMax) return text;
  let end = 0;
  // a character takes a byte at least
  for (const span of sentenceSpans(text.slice(0, bytesMax + 1))) {
    if (Buffer.byteLength(text.slice(0, span.end), "utf8") > bytesMax - CUT_BYTES) break;
    end = span.end;
  }
  return end > 0 ? `${text.slice(0, end)} ${CUT}` : wordsFitting(text, bytesMax);
}

/** As many words as there is room for, from the beginning; for what has no sentence that is short enough. */
export function wordsFitting(text: string, bytesMax: number): string {
  const room = Math.max(0, bytesMax - CUT_BYTES);
  const bytes = Buffer.from(text, "utf8");
  if (bytes.length <= bytesMax) return text;
  const units = bytes
    .subarray(0, room)
    .toString("utf8")
    .replace(/\ufffd+$/, "").length;
  return `${text.slice(0, wordStartBefore(text, units)).trimEnd()}${CUT}`;
}

interface Run {
  readonly first: number;
  readonly last: number;
}

// The run of most weight among those that are as long as there is room; of several the first.
function bestRun(text: string, spans: readonly Span[], weights: readonly number[], bytesMax: number): Run | null {
  let best: Run | null = null;
  let bestWeight = -1;
  let last = -1;
  let [bytes, weight] = [0, 0];
  for (let first = 0; first < spans.length; first++) {
    if (last < first) [last, bytes, weight] = [first - 1, 0, 0];
    for (;;) {
      const added = bytesBetween(text, last < first ? spans[first]?.start : spans[last]?.end, spans[last + 1]?.end);
      if (added === null || bytes + added > bytesMax) break;
      last++;
      bytes += added;
      weight += weights[last] ?? 0;
    }
    if (last >= first && weight > bestWeight) {
      best = { first, last };
      bestWeight = weight;
    }
    bytes -= bytesBetween(text, spans[first]?.start, spans[first + 1]?.start) ?? 0;
    weight -= weights[first] ?? 0;
  }
  return best;
}

function bytesBetween(text: string, start: number | undefined, end: number | undefined): number | null {
  return start === undefined || end === undefined ? null : Buffer.byteLength(text.slice(start, end), "utf8");
}

// What each sentence counts: its terms, each the more the fewer sentences have it.
function weightsOf(text: string, spans: readonly Span[], terms: Terms): readonly number[] {
  const found = spans.map(({ start, end }) => {
    return new Set(comparedWords(text.slice(start, end)).map(stemOf)).intersection(terms);
  });
  const sentences = new Map<string, number>();
  for (const each of found) for (const term of each) sentences.set(term, (sentences.get(term) ?? 0) + 1);
  return found.map((each) => [...each].reduce((sum, term) => sum + 1 / (sentences.get(term) ?? 1), 0));
}

function stemOf(word: string): string {
  return word.slice(0, STEM_UNITS);
}
