// Turns the outputs of a reader for one passage into a reading: its logits, and the span of words that answers best.

import { isHighSurrogate } from "../../kit/surrogates.ts";
import { READING, READING_WIDTH } from "../../ports/models.ts";
import type { ReadingTokens } from "../../tokenizers/tokenizer.ts";

/** Maximum number of tokens of an answer. The reader was trained with the same limit. */
const ANSWER_TOKENS_MAX = 24;
/** Number of logits of the pair, before those of its tokens. */
const LOGITS = 2;

/**
 * The reading of a passage, `READING_WIDTH` values.
 * @param values outputs of the reader: relevance and answer, then begin and end of each token
 */
export function readingOf(
  values: Float32Array,
  { firstLength, secondEnd, places }: Pick<ReadingTokens, "firstLength" | "secondEnd" | "places">,
  passage: string,
): Float32Array {
  const reading = new Float32Array(READING_WIDTH);
  reading[READING.relevance] = values[0] ?? Number.NaN;
  reading[READING.answer] = values[1] ?? Number.NaN;
  reading[READING.begin] = -1;
  reading[READING.end] = -1;
  if (secondEnd <= firstLength || passage.trim() === "") return reading; // there are no words
  const first = bestToken(values, firstLength, secondEnd, LOGITS);
  const last = bestToken(values, first, Math.min(secondEnd, first + ANSWER_TOKENS_MAX), LOGITS + 1);
  const begin = Math.min(passage.length - 1, places[2 * (first - firstLength)] ?? 0);
  const end = Math.max(begin, places[2 * (last - firstLength) + 1] ?? 0);
  reading[READING.begin] = begin;
  reading[READING.end] = begin + wholeCharacters(passage.slice(begin, end), passage, begin);
  reading[READING.span] = (values[LOGITS + 2 * first] ?? 0) + (values[LOGITS + 1 + 2 * last] ?? 0);
  return reading;
}

/** The token from `from` to before `to` with the highest logit. @param offset position of the logit of token 0 */
function bestToken(values: Float32Array, from: number, to: number, offset: number): number {
  let best = from;
  for (let at = from; at < to; at += 1) {
    if ((values[offset + 2 * at] ?? 0) > (values[offset + 2 * best] ?? 0)) best = at;
  }
  return best;
}

/** Length of `words` without white space at its end; at least one character, and never half of a surrogate pair. */
function wholeCharacters(words: string, passage: string, begin: number): number {
  const length = words.trimEnd().length;
  if (length === 0) return String.fromCodePoint(passage.codePointAt(begin) ?? 0x20).length;
  const last = passage.charCodeAt(begin + length - 1);
  return isHighSurrogate(last) && begin + length < passage.length ? length + 1 : length;
}
