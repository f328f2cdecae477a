// Extracts a title from a text: the subject of an email, the title that the text states, its first heading, the columns
// of a table, a short first line, or the first informative sentence. title-noise.ts recognises uninformative lines (a
// date, a greeting, "Abstract").

import type { DetectedType } from "../domain/extraction.ts";
import { LEANING_END, shortTitle, TITLE_CHARACTERS_MAX } from "../domain/title.ts";
import { codePointsOf } from "../kit/code-points.ts";
import { blocksOf } from "./outline.ts";
import { sentencesOf } from "./sentences.ts";
import { isShortWord, isUninformative, plainTextOf, withoutSectionName } from "./title-noise.ts";

/** Number of UTF-16 code units at the beginning of a text that are searched for a title. */
const SAMPLE_UNITS = 8_192;
/**
 * A heading below the first level must begin within this many UTF-16 code units to be the title. Later headings name a
 * part, not the whole text.
 */
const HEADING_START_MAX = 1_024;
/**
 * Maximum length of a line that can be a title if the next line follows without a blank line between them. Longer lines
 * are wrapped prose.
 */
const LINE_CHARACTERS_MAX = 60;
/** Number of uninformative lines or sentences after which the search for a title ends. */
const SKIPPED_MAX = 24;
/**
 * Number of UTF-16 code units of a line or sentence that are read, including markup and parentheses that are removed
 * later.
 */
const SENTENCE_UNITS_MAX = 8 * TITLE_CHARACTERS_MAX;

/**
 * A title for a text, at most 80 characters, with `…` at its end if it was shortened. Empty only for a text without
 * visible characters. Takes about 0.1 ms for any length.
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
    plainTextOf(sample.slice(0, SENTENCE_UNITS_MAX));
  return shortTitle(found || sample.slice(0, SENTENCE_UNITS_MAX));
}

const SUBJECT = /^(?:Subject|Betreff|Objet|Asunto|Oggetto|Assunto|Onderwerp|Temat|Тема):[ \t]*(\S.*)$/im;

function subjectOf(sample: string): string {
  return SUBJECT.exec(sample)?.[1]?.slice(0, SENTENCE_UNITS_MAX).trim() ?? "";
}

/** The body of an email: the text after the header fields. */
function bodyOf(sample: string): string {
  const gap = /\n[ \t\r]{0,80}\n/.exec(sample);
  return gap === null ? "" : sample.slice(gap.index).trim();
}

/** The title that a text states: `title:` in its front matter, or the `title` or `h1` of a page. */
function statedTitle(sample: string): string {
  if (sample.startsWith("---\n")) {
    const frontMatter = sample.slice(4, Math.max(4, sample.indexOf("\n---", 3)));
    const written = /^title:[ \t]*(\S.*)$/im.exec(frontMatter)?.[1]?.slice(0, SENTENCE_UNITS_MAX).trim() ?? "";
    return written.replace(/^(["'])(.*)\1$/, "$2");
  }
  if (!sample.startsWith("<")) return "";
  return plainTextOf(/<(?:title|h1)(?:\s[^<>]{0,200})?>([^<]{1,500})/i.exec(sample)?.[1] ?? "");
}

function firstHeading(sample: string, type: DetectedType): string {
  if (type === "code" || type === "table" || type === "conversation") return "";
  for (const { kind, start, under } of blocksOf(sample, "markdown")) {
    if (kind !== "heading" || under === null || (start > HEADING_START_MAX && under.level > 1)) continue;
    const text = plainTextOf(under.text);
    if (!isUninformative(text)) return text;
  }
  return "";
}

/** The column names of a table, or the cells of its first row. */
function columnsOf(sample: string): string {
  const row = (sample.split("\n", 1)[0] ?? "").slice(0, SENTENCE_UNITS_MAX);
  const separator = ["|", "\t", ";", ","].find((each) => row.includes(each)) ?? ",";
  return row
    .split(separator)
    .map((cell) => plainTextOf(cell.trim().replace(/^"(.*)"$/, "$1")))
    .filter((cell) => /[\p{L}\p{N}]/u.test(cell))
    .join(", ");
}

/** Matches lines of a program that do not say what it does: imports, licences, directives. */
const CODE_PREAMBLE =
  /^\s*(?:#!|['"]use \w+['"]|import\b|from\s+\S+\s+import\b|#include\b|package\s|using\s|<[!?]|(?:\/\/|#|\/?\*+)\s*(?:eslint|prettier|biome|@ts-|pylint|noqa|SPDX|Copyright|Licen[cs]ed?\b|coding[:=]|-\*-))/i;
/** Matches the marker at the start of a comment. */
const COMMENT_MARKER = /^\s*(?:\/\/+!?|\/\*+|\*(?=\s)|<!--|"""|'''|--|#+)\s*/;

/** The first comment or declaration of a program. */
function firstCodeLine(sample: string): string {
  for (const written of sample.split("\n", SKIPPED_MAX)) {
    const line = plainTextOf(written.slice(0, SENTENCE_UNITS_MAX).replace(COMMENT_MARKER, ""));
    if (CODE_PREAMBLE.test(written) || isUninformative(line)) continue;
    return line.replace(/\s*(?:\*\/|-->|"""|[{([:;,=])$/, "");
  }
  return "";
}

/** The first informative line, if it is short and does not continue on the next line; else empty. */
function firstLine(sample: string): string {
  const lines = sample.split("\n", SKIPPED_MAX);
  const position = lines.findIndex((line) => !isUninformative(plainTextOf(line.slice(0, SENTENCE_UNITS_MAX))));
  const line = plainTextOf(
    (lines[position] ?? "").slice(0, SENTENCE_UNITS_MAX).replace(/^\s*(?:\/\/+|<!--|--)\s*/, ""),
  );
  const characters = codePointsOf(line);
  if (line === "" || characters > TITLE_CHARACTERS_MAX || withoutSectionName(line) !== line) return "";
  const next = lines[position + 1]?.trim() ?? "";
  // If a paragraph was wrapped by hand, its first line is long or the next one begins in lower case. A title is
  // followed by a blank line or by a new sentence.
  const isWrapped =
    /^\p{Ll}/u.test(next) || (next !== "" && (characters > LINE_CHARACTERS_MAX || LEANING_END.test(line)));
  return isWrapped || /[,;，、]$|[.!?]\s|[。！？]./u.test(line) ? "" : line;
}

/** The first informative sentence; empty if there is none. */
function firstSentence(sample: string): string {
  let skipped = 0;
  for (const { start, end } of sentencesOf(sample, 0, sample.length)) {
    // A heading or greeting on a line of its own is not part of the sentence below it.
    for (const part of sample.slice(start, end).split(/\n[ \t\r]*\n|(?<=[,，])\n/)) {
      const sentence = withoutSectionName(plainTextOf(part.slice(0, SENTENCE_UNITS_MAX)));
      if (!isUninformative(sentence) && !isShortWord(sentence)) return sentence;
      if (++skipped === SKIPPED_MAX) return "";
    }
  }
  return "";
}
