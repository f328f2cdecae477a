// Shortens texts that do not fit into a token budget, at sentence boundaries if possible.

import { estimatedTokens, tokensBefore, unitsWithin } from "../domain/language-model.ts";
import { normalisedWords } from "./normalised-words.ts";
import { type Span, sentenceSpans, wordStartBefore } from "./sentences.ts";

const CUT = "…";
/** Number of tokens of `… ` at the beginning and ` …` at the end, including rounding. */
const CUT_TOKENS = 3;
/**
 * Number of UTF-16 code units behind a cut that are also split into sentences, so that the cut does not look like the
 * end of a sentence.
 */
const BEHIND_CUT_UNITS = 96;
/** Number of first characters that are compared. Words that agree in them count as forms of one word. */
const STEM_UNITS = 5;

/** Stems of the words of a question. */
export type Terms = ReadonlySet<string>;

/** The terms of a question. */
export function termsOf(question: string): Terms {
  return new Set(normalisedWords(question).map(stemOf));
}

/**
 * Returns an excerpt: consecutive sentences of `text`, with `…` at either end if text is missing there. Of all runs of
 * sentences that fit, it is the one with the highest weight of terms; if no sentence has a term, the first run. Returns
 * null if no sentence fits. Linear in the text.
 * @param tokensMax estimated tokens
 */
export function excerptOf(text: string, terms: Terms, tokensMax: number): string | null {
  const spans = [...sentenceSpans(text)];
  const best = bestRun(text, spans, weightsOf(text, spans, terms), tokensMax - CUT_TOKENS);
  if (best === null) return null;
  const prefix = best.first === 0 ? "" : `${CUT} `;
  const suffix = best.last === spans.length - 1 ? "" : ` ${CUT}`;
  return `${prefix}${text.slice(spans[best.first]?.start, spans[best.last]?.end)}${suffix}`;
}

/** The longest beginning of a text that fits: whole sentences, or words if the first sentence is too long. */
export function beginningOf(text: string, tokensMax: number): string {
  if (unitsWithin(text, tokensMax) === text.length) return text;
  const room = unitsWithin(text, tokensMax - CUT_TOKENS);
  let end = 0;
  for (const span of sentenceSpans(text.slice(0, room + BEHIND_CUT_UNITS))) {
    if (span.end > room) break;
    end = span.end;
  }
  return end > 0 ? `${text.slice(0, end)} ${CUT}` : wordsFitting(text, tokensMax);
}

/** As many first words of a text as fit. For texts whose sentences are too long. */
export function wordsFitting(text: string, tokensMax: number): string {
  if (unitsWithin(text, tokensMax) === text.length) return text;
  const units = unitsWithin(text, tokensMax - CUT_TOKENS);
  return `${text.slice(0, wordStartBefore(text, units)).trimEnd()}${CUT}`;
}

/** As many last characters of a text as fit. */
export function endOf(text: string, tokensMax: number): string {
  // One token more is removed than needed, because a token that is cut in two may count as two.
  const before = unitsWithin(text, estimatedTokens(text) - tokensMax + 1);
  return text.slice(before === text.length ? before : before + 1).replace(/^[\udc00-\udfff]/, "");
}

interface Run {
  readonly first: number;
  readonly last: number;
}

// For each first sentence, there is one longest run of sentences that fits. Returns the run with the highest weight; of
// equal ones, the first. Uses a sliding window.
function bestRun(text: string, spans: readonly Span[], weights: readonly number[], tokensMax: number): Run | null {
  const tokens = tokensBefore(
    text,
    spans.flatMap(({ start, end }) => [start, end]),
  );
  let best: Run | null = null;
  let bestWeight = -1;
  let last = -1;
  let weight = 0;
  for (let first = 0; first < spans.length; first++) {
    if (last < first) [last, weight] = [first - 1, 0];
    const end = (tokens[2 * first] ?? 0) + tokensMax;
    while (last + 1 < spans.length && (tokens[2 * last + 3] ?? 0) <= end) {
      last++;
      weight += weights[last] ?? 0;
    }
    if (last >= first && weight > bestWeight) {
      best = { first, last };
      bestWeight = weight;
    }
    weight -= weights[first] ?? 0;
  }
  return best;
}

// Weight of each sentence: the sum over its terms of 1 / (number of sentences with the term).
function weightsOf(text: string, spans: readonly Span[], terms: Terms): readonly number[] {
  const found = spans.map(({ start, end }) => {
    return new Set(normalisedWords(text.slice(start, end)).map(stemOf)).intersection(terms);
  });
  const sentences = new Map<string, number>();
  for (const each of found) for (const term of each) sentences.set(term, (sentences.get(term) ?? 0) + 1);
  return found.map((each) => [...each].reduce((sum, term) => sum + 1 / (sentences.get(term) ?? 1), 0));
}

function stemOf(word: string): string {
  return word.slice(0, STEM_UNITS);
}
