// The parts of a long passage that a reader reads: whole sentences, those with the most words of the question first.

import { splitsPair } from "../kit/surrogates.ts";
import { foldLetters, UNSPACED } from "../words/word-patterns.ts";

/** A part of a text, `[start, end)` in UTF-16 code units. */
export interface Window {
  readonly start: number;
  readonly end: number;
}

/** Size of a window in UTF-16 code units: about 100 tokens, which is what a reader reads of a passage. */
const WINDOW_UNITS = 420;
/** Size of a window in scripts without spaces, whose characters are tokens. */
const UNSPACED_WINDOW_UNITS = 160;
/** Maximum number of UTF-16 code units that are looked at. A passage is shorter, unless it has no words. */
const TEXT_UNITS_MAX = 8_192;
/** Number of first letters by which words are compared, so that endings do not count. */
const STEM_LETTERS = 5;

const SENTENCES = new Intl.Segmenter(undefined, { granularity: "sentence" });

/** The windows of a text, best first. Equally good ones are in the order of the text. A short text is one window. */
export function windowsOf(question: string, given: string): readonly Window[] {
  const text = given.slice(0, TEXT_UNITS_MAX);
  const unitsMax = UNSPACED.test(text) ? UNSPACED_WINDOW_UNITS : WINDOW_UNITS;
  if (text.length <= unitsMax) return [{ start: 0, end: text.length }];
  const asked = stemsOf(question);
  const windows = cut(text, unitsMax).map((window) => ({
    window,
    shared: stemsOf(text.slice(window.start, window.end)).intersection(asked).size,
  }));
  return windows.toSorted((left, right) => right.shared - left.shared).map(({ window }) => window);
}

/** Cuts a text between sentences; a sentence that is too long is cut anywhere. */
function cut(text: string, unitsMax: number): readonly Window[] {
  const windows: Window[] = [];
  let start = 0;
  let end = 0;
  for (const { segment, index } of SENTENCES.segment(text)) {
    const next = index + segment.length;
    if (next - start > unitsMax && end > start) {
      windows.push({ start, end });
      start = end;
    }
    while (next - start > unitsMax) {
      const middle = start + unitsMax;
      const cut = splitsPair(text, middle) ? middle + 1 : middle;
      windows.push({ start, end: cut });
      start = cut;
    }
    end = next;
  }
  if (end > start) windows.push({ start, end });
  return windows;
}

/** Beginnings of the words of a text; in scripts without spaces, its pairs of characters. */
function stemsOf(text: string): ReadonlySet<string> {
  const stems = new Set<string>();
  for (const [word] of foldLetters(text).matchAll(/[\p{L}\p{M}\p{N}]+/gu)) {
    if (!UNSPACED.test(word)) stems.add(word.slice(0, STEM_LETTERS));
    else for (let at = 0; at + 1 < word.length; at += 1) stems.add(word.slice(at, at + 2));
  }
  return stems;
}
