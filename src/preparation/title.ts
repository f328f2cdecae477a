// What a memory is called when nobody says: the title that it states itself, its first heading, a short first line, or its
// first sentence that says something. What says nothing (a date, a greeting, "Abstract") is known to title-noise.ts.

import { characterCount, LEANING_END, shortTitle, TITLE_CHARACTERS_MAX } from "../domain/title.ts";
import { blocksOf } from "./outline.ts";
import { sentencesOf } from "./sentences.ts";
import { isSingleWord, saysNothing, withoutLabel, withoutMarks } from "./title-noise.ts";
import type { DetectedType } from "./type.ts";

/** Units at a text's beginning in which a title is looked for. */
const SAMPLE_UNITS = 8_192;
/** Units within which a heading below the first level must begin: later it names a part, not the whole. */
const HEADING_START_MAX = 1_024;
/** Longest line that is taken for a title although another follows at once; longer ones are wrapped prose. */
const LINE_CHARACTERS_MAX = 60;
/** Lines or sentences that say nothing before the search ends. */
const SKIPPED_MAX = 24;
/** Units of a line or sentence that can matter for a title, with what is left out of it. */
const SENTENCE_UNITS_MAX = 8 * TITLE_CHARACTERS_MAX;

/**
 * A title for a text, at most 80 characters, `…` at its end where it was cut at a word. Empty only for a text without
 * any visible character. Cost: about 0.1 ms, whatever the text's length.
 */
export function extractTitle(content: string, type: DetectedType): string {
  const sample = content.slice(0, SAMPLE_UNITS).toWellFormed().trim();
  const found =
    (type === "email" && (subjectOf(sample) || firstSentence(bodyOf(sample)))) ||
    statedTitle(sample) ||
    firstHeading(sample, type) ||
    (type === "table" && columnsOf(sample)) ||
    (type === "code" ? firstCodeLine(sample) : firstLine(sample)) ||
    firstSentence(sample) ||
    withoutMarks(sample.slice(0, SENTENCE_UNITS_MAX));
  return shortTitle(found || sample.slice(0, SENTENCE_UNITS_MAX));
}

const SUBJECT = /^(?:Subject|Betreff|Objet|Asunto|Oggetto|Assunto|Onderwerp|Temat|Тема):[ \t]*(\S.*)$/im;

function subjectOf(sample: string): string {
  return SUBJECT.exec(sample)?.[1]?.slice(0, SENTENCE_UNITS_MAX).trim() ?? "";
}

/** What follows the fields at the head of an email. */
function bodyOf(sample: string): string {
  const gap = /\n[ \t\r]{0,80}\n/.exec(sample);
  return gap === null ? "" : sample.slice(gap.index).trim();
}

/** What a text says of itself: `title:` in its front matter, the `title` or `h1` of a page. */
function statedTitle(sample: string): string {
  if (sample.startsWith("---\n")) {
    const frontMatter = sample.slice(4, Math.max(4, sample.indexOf("\n---", 3)));
    const written = /^title:[ \t]*(\S.*)$/im.exec(frontMatter)?.[1]?.slice(0, SENTENCE_UNITS_MAX).trim() ?? "";
    return written.replace(/^(["'])(.*)\1$/, "$2");
  }
  if (!sample.startsWith("<")) return "";
  return withoutMarks(/<(?:title|h1)(?:\s[^<>]{0,200})?>([^<]{1,500})/i.exec(sample)?.[1] ?? "");
}

function firstHeading(sample: string, type: DetectedType): string {
  if (type === "code" || type === "table" || type === "conversation") return "";
  for (const { kind, start, under } of blocksOf(sample, "markdown")) {
    if (kind !== "heading" || under === null || (start > HEADING_START_MAX && under.level > 1)) continue;
    const text = withoutMarks(under.text);
    if (!saysNothing(text)) return text;
  }
  return "";
}

/** The names of a table's columns, or whatever its first row says. */
function columnsOf(sample: string): string {
  const row = (sample.split("\n", 1)[0] ?? "").slice(0, SENTENCE_UNITS_MAX);
  const separator = ["|", "\t", ";", ","].find((each) => row.includes(each)) ?? ",";
  return row
    .split(separator)
    .map((cell) => withoutMarks(cell.trim().replace(/^"(.*)"$/, "$1")))
    .filter((cell) => /[\p{L}\p{N}]/u.test(cell))
    .join(", ");
}

/** What stands in a program before it says what it does. */
const CODE_PREAMBLE =
  /^\s*(?:#!|['"]use \w+['"]|import\b|from\s+\S+\s+import\b|#include\b|package\s|using\s|<[!?]|(?:\/\/|#|\/?\*+)\s*(?:eslint|prettier|biome|@ts-|pylint|noqa|SPDX|Copyright|Licen[cs]ed?\b|coding[:=]|-\*-))/i;
/** The sign before a comment, which is no part of what it says. */
const COMMENT_SIGN = /^\s*(?:\/\/+!?|\/\*+|\*(?=\s)|<!--|"""|'''|--|#+)\s*/;

/** The first comment or declaration of a program. */
function firstCodeLine(sample: string): string {
  for (const written of sample.split("\n", SKIPPED_MAX)) {
    const line = withoutMarks(written.slice(0, SENTENCE_UNITS_MAX).replace(COMMENT_SIGN, ""));
    if (CODE_PREAMBLE.test(written) || saysNothing(line)) continue;
    return line.replace(/\s*(?:\*\/|-->|"""|[{([:;,=])$/, "");
  }
  return "";
}

/** The first line that says something, when it is short and does not run on into the next. */
function firstLine(sample: string): string {
  const lines = sample.split("\n", SKIPPED_MAX);
  const position = lines.findIndex((line) => !saysNothing(withoutMarks(line.slice(0, SENTENCE_UNITS_MAX))));
  const line = withoutMarks(
    (lines[position] ?? "").slice(0, SENTENCE_UNITS_MAX).replace(/^\s*(?:\/\/+|<!--|--)\s*/, ""),
  );
  const points = characterCount(line);
  if (line === "" || points > TITLE_CHARACTERS_MAX || withoutLabel(line) !== line) return "";
  const next = lines[position + 1]?.trim() ?? "";
  // A line wrapped by hand goes on in lower case or fills the width; a title is followed by a gap or a fresh start.
  const isWrapped = /^\p{Ll}/u.test(next) || (next !== "" && (points > LINE_CHARACTERS_MAX || LEANING_END.test(line)));
  return isWrapped || /[,;，、]$|[.!?]\s|[。！？]./u.test(line) ? "" : line;
}

/** The first sentence that says something. */
function firstSentence(sample: string): string {
  let skipped = 0;
  for (const { start, end } of sentencesOf(sample, 0, sample.length)) {
    // A heading or greeting on a line of its own is no part of the sentence below it.
    for (const part of sample.slice(start, end).split(/\n[ \t\r]*\n|(?<=[,，])\n/)) {
      const sentence = withoutLabel(withoutMarks(part.slice(0, SENTENCE_UNITS_MAX)));
      if (!saysNothing(sentence) && !isSingleWord(sentence)) return sentence;
      if (++skipped === SKIPPED_MAX) return "";
    }
  }
  return "";
}
