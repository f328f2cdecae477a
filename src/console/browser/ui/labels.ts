// Labels that fit a picture: cut to a length, and so that two different texts with the same beginning differ.

import { cutText } from "../core/cut-text.ts";

/** Maximum share of a label that is the common beginning, where it goes on with what differs. */
const BEGINNING_SHARE = 0.5;
/** Maximum number of common words before the difference that are shown with it. */
const WORDS_BEFORE = 2;
/** Minimum number of characters that are left of the beginning of a text. A label with fewer says nothing. */
const BEGINNING_MIN = 12;
/** Minimum number of characters that are left of what differs, in a label that is cut there, too. */
const DIFFERENCE_MIN = 16;

/**
 * The texts, cut to `most` characters. Of those that would look the same, the middle is left out, and not the end.
 * Empty where too little of a text would be left.
 */
export function distinctLabels(texts: readonly string[], most: number): readonly string[] {
  const cut = texts.map((text) => cutText(text, most));
  const alike = new Map<string, number[]>();
  for (const [at, label] of cut.entries()) {
    if (label !== "") alike.set(label, [...(alike.get(label) ?? []), at]);
  }
  for (const group of alike.values()) {
    const whole = group.map((at) => texts[at] ?? "");
    if (new Set(whole).size < 2) continue;
    const differs = differsFrom(whole);
    for (const at of group) cut[at] = labelWithDifference(texts[at] ?? "", differs, most);
  }
  return cut.map((label, at) => (label !== texts[at] && label.length <= BEGINNING_MIN ? "" : label));
}

/** The beginning of a text and what follows from its place `differs`, whole if it fits; empty if neither fits. */
function labelWithDifference(text: string, differs: number, most: number): string {
  const beginningMost = Math.round(most * BEGINNING_SHARE);
  for (let words = WORDS_BEFORE; words >= 0; words--) {
    const rest = text.slice(wordsBefore(text, differs, words));
    const beginning = beginningOf(text, Math.min(beginningMost, most - rest.length - 2));
    if (beginning.length >= BEGINNING_MIN) return `${beginning}… ${rest}`;
  }
  const beginning = beginningOf(text, beginningMost);
  const rest = most - beginning.length - 2;
  const difference = cutText(text.slice(wordsBefore(text, differs, WORDS_BEFORE, rest / 2)), rest);
  const saysEnough = beginning.length >= BEGINNING_MIN && difference.length > DIFFERENCE_MIN;
  return saysEnough ? `${beginning}… ${difference}` : "";
}

/** The whole words at the beginning of a text that fit into `most` characters. */
function beginningOf(text: string, most: number): string {
  if (most <= 0) return "";
  const space = text.slice(0, most + 1).lastIndexOf(" ");
  return text.slice(0, space > 0 ? space : most);
}

/** Where the first word begins in which not all of the texts are the same. */
function differsFrom(texts: readonly string[]): number {
  const [first = "", ...others] = texts;
  let end = 0;
  while (end < first.length && others.every((text) => text[end] === first[end])) end++;
  return first.slice(0, end).lastIndexOf(" ") + 1;
}

/** The place up to `words` words before another one, at most so many characters before it. */
function wordsBefore(text: string, place: number, words: number, most = text.length): number {
  let from = place;
  for (let word = 0; word < words && from > 1; word++) {
    const before = text.lastIndexOf(" ", from - 2) + 1;
    if (place - before > most) break;
    from = before;
  }
  return from;
}
