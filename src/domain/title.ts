// Shortens a text to the length of a memory's title. Its callers decide what a title is made from: the readers of
// files, preparation/title.ts and the LLM extraction.

import { codePointsOf } from "../kit/code-points.ts";
import { cutBefore } from "../kit/text-cut.ts";

/**
 * Maximum length of a generated title in code points, `…` included, so that it fits on one line in a list of memories.
 */
export const TITLE_CHARACTERS_MAX = 80;

/**
 * Maximum number of UTF-16 code units at the beginning of a text that are used for its title. The number includes
 * parentheses, which are removed later.
 */
const INPUT_UNITS_MAX = 8 * TITLE_CHARACTERS_MAX;

/** Matches up to five short words at the end of a line that seem to need a continuation: "of the", "und", "et de". */
export const LEANING_END = /(?:\s\p{Ll}{1,3}){1,5}$/u;

/**
 * Turns a text into a title: one line of at most 80 characters. From a longer text, parentheses are removed first. If
 * it is still too long, it is cut after a word that needs no continuation, and `…` is appended.
 */
export function shortTitle(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  if (codePointsOf(line) <= TITLE_CHARACTERS_MAX) return line;
  const bare = withoutParentheses(line.slice(0, INPUT_UNITS_MAX).toWellFormed());
  if (codePointsOf(bare) <= TITLE_CHARACTERS_MAX) return bare;
  const head = Array.from(bare)
    .slice(0, TITLE_CHARACTERS_MAX - 1)
    .join("");
  const cut = bare.slice(0, cutBefore(bare, 0, head.length)).trimEnd();
  return `${cut.replace(LEANING_END, "").replace(/(?:[\s,;:–—-]| \.)+$/u, "") || cut}…`;
}

/** Removes parentheses and their content, unless less than a quarter of the maximum length would be left. */
function withoutParentheses(line: string): string {
  const bare = line
    .replace(/ ?\([^()]{0,400}\)| ?（[^（）]{0,400}）/g, "")
    .replace(/\s+/g, " ")
    .trim();
  return codePointsOf(bare) >= TITLE_CHARACTERS_MAX / 4 ? bare : line;
}
