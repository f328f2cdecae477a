// The heading of a memory's page. Many memories have no title of their own, but one that is the beginning of their
// text. As the whole text stands below it, such a heading takes one line only.

import { cutText, textInOneLine } from "../../core/cut-text.ts";

/** Maximum length of a heading that is the beginning of the text below it, in characters. */
const HEADING_CHARACTERS = 60;
/** Maximum length of a text that leaves room for other parts of the memory beside it, in characters. */
const SHORT_CHARACTERS = 400;

/** @param name the memory's name, as lists show it: perhaps the beginning of its text, with `…` where it was cut */
export function headingOf(name: string, content: string | undefined): string {
  const text = textInOneLine(content ?? "");
  const isBeginning = text !== "" && text.startsWith(name.replace(/…$/, ""));
  return isBeginning ? cutText(name, HEADING_CHARACTERS) : name;
}

/** Whether a text is so short that other parts of the memory are shown below it. */
export function isShort(content: string | undefined): boolean {
  return (content ?? "").length <= SHORT_CHARACTERS;
}
