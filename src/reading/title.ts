// What a memory is called when nobody says: its first heading, else a short first line, else its first sentence.

import { blocksOf, withoutMarkup } from "./outline.ts";
import { cutBefore, sentencesOf } from "./sentences.ts";
import type { DetectedType } from "./type.ts";

/** Longest title that is made, in code points, `…` included: one line in a list of memories. */
export const TITLE_CHARACTERS_MAX = 80;

/** Units at a text's beginning in which a title is looked for. */
const SAMPLE_UNITS = 8_192;

/**
 * A title for a text, at most 80 characters, `…` at its end where it was cut at a word. Empty only for a text without
 * any visible character.
 */
export function extractTitle(content: string, type: DetectedType): string {
  const sample = content.slice(0, SAMPLE_UNITS).toWellFormed().trim();
  const found =
    (type === "email" && subjectOf(sample)) || firstHeading(sample, type) || firstLine(sample) || firstSentence(sample);
  return shortTitle(found || sample.slice(0, 4 * TITLE_CHARACTERS_MAX));
}

function subjectOf(sample: string): string {
  return /^(?:Subject|Betreff|Objet):[ \t]*(.+)$/im.exec(sample)?.[1]?.trim() ?? "";
}

function firstHeading(sample: string, type: DetectedType): string {
  if (type === "code" || type === "table" || type === "conversation") return "";
  for (const block of blocksOf(sample, "markdown")) if (block.kind === "heading") return block.under?.text ?? "";
  return "";
}

/** The first line with a letter or digit in it, when it is short and does not run on into the next. */
function firstLine(sample: string): string {
  const lines = sample.split("\n");
  const position = lines.findIndex((line) => /[\p{L}\p{N}]/u.test(line));
  // In source code the first line is often a comment, whose sign is no part of what it says.
  const written = (lines[position] ?? "").replace(/^\s*(?:\/\/+|\/\*+|<!--|"""|--)[!\s]*/, "");
  const line = withoutMarkup(written.slice(0, 8 * TITLE_CHARACTERS_MAX));
  if (line === "" || pointsOf(line) > TITLE_CHARACTERS_MAX) return "";
  const next = lines[position + 1]?.trim() ?? "";
  // A line wrapped by hand goes on in lower case; a title is followed by a gap or a fresh start.
  return /^\p{Ll}/u.test(next) || /[,;，、]$/u.test(line) || /[.!?。！？]\s/u.test(line) ? "" : line;
}

function firstSentence(sample: string): string {
  for (const { start, end } of sentencesOf(sample, 0, sample.length)) {
    const sentence = withoutMarkup(sample.slice(start, Math.min(end, start + 8 * TITLE_CHARACTERS_MAX)));
    if (/[\p{L}\p{N}]/u.test(sentence)) return sentence;
  }
  return "";
}

/** A text as a title: on one line, at most 80 characters, `…` at its end where it was cut at a word. */
export function shortTitle(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  if (pointsOf(line) <= TITLE_CHARACTERS_MAX) return line;
  const head = Array.from(line)
    .slice(0, TITLE_CHARACTERS_MAX - 1)
    .join("");
  const end = cutBefore(line, 0, head.length);
  const cut = line.slice(0, end).trimEnd();
  return `${cut.replace(/[,;:–—-]+$/u, "") || cut}…`;
}

function pointsOf(text: string): number {
  let points = 0;
  for (const _ of text) points++;
  return points;
}
