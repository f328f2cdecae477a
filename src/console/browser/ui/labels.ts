// Labels that fit a picture: cut to a length, and so that two different texts with the same beginning differ.

import { cutText } from "../core/cut-text.ts";

/** Share of a label that is the common beginning, where it goes on with what differs. */
const BEGINNING_SHARE = 0.5;
/** Maximum number of common words before the difference that are shown with it. */
const WORDS_BEFORE = 2;

/** The texts, cut to `most` characters. Of those that would look the same, the middle is left out, and not the end. */
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
    for (const at of group) {
      const text = texts[at] ?? "";
      const head = text.slice(0, Math.round(most * BEGINNING_SHARE));
      const beginning = head.slice(0, head.lastIndexOf(" ") > 0 ? head.lastIndexOf(" ") : undefined);
      const rest = most - beginning.length - 2;
      cut[at] = `${beginning}… ${cutText(text.slice(wordsBefore(text, differs, rest / 2)), rest)}`;
    }
  }
  return cut;
}

/** Where the first word begins in which not all of the texts are the same. */
function differsFrom(texts: readonly string[]): number {
  const [first = "", ...others] = texts;
  let end = 0;
  while (end < first.length && others.every((text) => text[end] === first[end])) end++;
  return first.slice(0, end).lastIndexOf(" ") + 1;
}

/** The place up to `WORDS_BEFORE` words before another one, at most so many characters before it. */
function wordsBefore(text: string, place: number, most: number): number {
  let from = place;
  for (let word = 0; word < WORDS_BEFORE && from > 1; word++) {
    const before = text.lastIndexOf(" ", from - 2) + 1;
    if (place - before > most) break;
    from = before;
  }
  return from;
}
