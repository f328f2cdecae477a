// What is shown of a text that has no room as a whole: whole sentences, those around what is asked for.

import { estimatedTokens, tokensBefore, unitsWithin } from "../domain/language-model.ts";
import { type Span, sentenceSpans, wordStartBefore } from "./sentences.ts";
import { comparedWords } from "./words.ts";

const CUT = "…";
/** Tokens of `… ` at the beginning and ` …` at the end, and what rounding may add. */
const CUT_TOKENS = 3;
/** What is looked at behind the place where a text is cut, so that no sentence seems to end there. */
const BEHIND_CUT_UNITS = 96;
/** Words that share this much of their beginning count as forms of one word. */
const STEM_UNITS = 5;

/** What is asked for, as sentences are compared with it. */
export type Terms = ReadonlySet<string>;

/** The terms of a question. */
export function termsOf(question: string): Terms {
  return new Set(comparedWords(question).map(stemOf));
}

/**
 * Sentences of `text` in a row, with `…` where some are missing: those with most of the terms that there is room for,
 * the first ones where none has any. null: there is no room for any sentence. Linear in the text.
 * @param tokensMax estimated
 */
export function excerptOf(text: string, terms: Terms, tokensMax: number): string | null {
  const spans = [...sentenceSpans(text)];
  const best = bestRun(text, spans, weightsOf(text, spans, terms), tokensMax - CUT_TOKENS);
  if (best === null) return null;
  const lead = best.first === 0 ? "" : `${CUT} `;
  const rest = best.last === spans.length - 1 ? "" : ` ${CUT}`;
  return `${lead}${text.slice(spans[best.first]?.start, spans[best.last]?.end)}${rest}`;
}

/** The beginning of a text as far as there is room: whole sentences, or words where its first sentence is too long. */
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

/** As many words as there is room for, from the beginning; for what has no sentence that is short enough. */
export function wordsFitting(text: string, tokensMax: number): string {
  if (unitsWithin(text, tokensMax) === text.length) return text;
  const units = unitsWithin(text, tokensMax - CUT_TOKENS);
  return `${text.slice(0, wordStartBefore(text, units)).trimEnd()}${CUT}`;
}

/** The last characters of a text, as many as there is room for. */
export function endOf(text: string, tokensMax: number): string {
  // rounded up, and one less for what a token that is cut in two may count more
  const before = unitsWithin(text, estimatedTokens(text) - tokensMax + 1);
  return text.slice(before === text.length ? before : before + 1).replace(/^[\udc00-\udfff]/, "");
}

interface Run {
  readonly first: number;
  readonly last: number;
}

// The run of most weight among those that are as long as there is room; of several the first.
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
