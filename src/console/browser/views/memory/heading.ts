// The heading of a memory's page. Many memories have no title of their own, but one that is the beginning of their
// text.

import { textInOneLine } from "../../core/cut-text.ts";

/** Maximum length of a text that is the heading of its own page, in characters. */
const HEADING_CHARACTERS = 200;

interface Heading {
  readonly heading: string;
  /** Whether it is the memory's whole text, so that this need not stand below it. */
  readonly isWholeText: boolean;
}

/** @param name the memory's name, as lists show it: perhaps the beginning of its text, with `…` where it was cut */
export function headingOf(name: string, content: string | undefined): Heading {
  const text = (content ?? "").trim();
  const isBeginning = text !== "" && textInOneLine(text).startsWith(name.replace(/…$/, ""));
  if (!isBeginning) return { heading: name, isWholeText: false };
  if (text.length <= HEADING_CHARACTERS && !text.includes("\n")) return { heading: text, isWholeText: true };
  // a title that was cut in the middle of the first sentence gets its end
  const [sentence = ""] = /^.*?[.!?。！？](?=\s|$)/u.exec(textInOneLine(text)) ?? [];
  const isEnded = sentence.length >= name.length - 1 && sentence.length <= HEADING_CHARACTERS;
  return { heading: name.endsWith("…") && isEnded ? sentence : name, isWholeText: false };
}
