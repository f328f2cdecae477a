// Detects the type of a text by rules on its first lines. The type also decides how chunk.ts reads the lines.

import type { DetectedType } from "../domain/extraction.ts";
import { turnHeadOf } from "./conversation/turn-head.ts";
import type { Form } from "./outline.ts";

/** Number of UTF-16 code units at the beginning of a text that decide its type. */
const SAMPLE_UNITS = 32_768;
/** Maximum number of lines that are read. */
const LINES_MAX = 400;
/** Maximum number of UTF-16 code units that are read of a line. */
const LINE_UNITS_MAX = 400;
/** Minimum length of an article, in UTF-16 code units: about 250 words, more than people write in a note. */
const ARTICLE_UNITS_MIN = 1_500;
/** Minimum number of lines of a table, list, conversation or piece of code. Fewer lines may look like one by chance. */
const LINES_MIN = 3;

/**
 * The layout of a text with this type. Only a detected type may be passed: a type that came with the text says nothing
 * about its layout.
 */
export function formOf(type: DetectedType, content: string): Form {
  switch (type) {
    case "code":
      return isFenced(content) ? "markdown" : "stanzas";
    case "conversation":
      return "lines";
    case "table":
      return content.trimStart().startsWith("|") ? "markdown" : "lines";
    default:
      return "markdown";
  }
}

/** The type of a text. Takes about 0.05 ms for any length. */
export function detectType(content: string): DetectedType {
  const sample = content.slice(0, SAMPLE_UNITS);
  const lines: string[] = [];
  for (const line of sample.split("\n", LINES_MAX)) {
    if (line.trim() !== "") lines.push(line.slice(0, LINE_UNITS_MAX).trimEnd());
  }
  if (isEmail(lines)) return "email";
  if (lines.length >= LINES_MIN) {
    // Conversations are checked before code: in chat logs with lines `<nick> words`, the nicks look like HTML tags.
    if (isChatLog(lines)) return "conversation";
    // Code is checked before tables, because lines that all end with commas or semicolons look like a table.
    if (isFenced(content) || isCode(lines)) return "code";
    if (isTable(lines)) return "table";
    if (isConversation(lines)) return "conversation";
    if (shareOf(lines, (line) => /^\s*(?:[-*+•◦‣]|\d{1,9}[.)])\s/.test(line)) >= 0.6) return "list";
  }
  return content.length >= ARTICLE_UNITS_MIN ? "article" : "note";
}

function shareOf(lines: readonly string[], test: (line: string) => boolean): number {
  return lines.length === 0 ? 0 : lines.filter(test).length / lines.length;
}

/** Whether the first lines have fields of an email header (in English, German or French): a sender and two more. */
function isEmail(lines: readonly string[]): boolean {
  const fields = new Set<string>();
  for (const line of lines.slice(0, 30)) {
    const field = /^(From|To|Subject|Date|Cc|Reply-To|Message-ID|Sent|Von|An|Betreff|Datum|De|À|Objet):\s/i.exec(
      line,
    )?.[1];
    if (field !== undefined) fields.add(field.toLowerCase());
  }
  return ["from", "von", "de"].some((sender) => fields.has(sender)) && fields.size >= 3;
}

/** Whether the text begins with a fenced block that contains most of the text. */
function isFenced(content: string): boolean {
  const fence = /^\s{0,3}(`{3,}|~{3,})/.exec(content.slice(0, 100))?.[1];
  if (fence === undefined) return false;
  const closing = content.indexOf(`\n${fence}`, fence.length);
  return closing === -1 || closing * 2 > content.length;
}

const CODE_LINE =
  /^\s*(?:import\s.*["';]|import\s+[\w.]+(?:\s+as\s+\w+)?$|from\s+[\w.]+\s+import\s|export\s+(?:default|const|function|class|type|interface)\b|(?:pub\s+|async\s+|static\s+|public\s+|private\s+|protected\s+)*(?:def|fn|func|function|class|struct|impl|interface|enum|namespace)\s+[\w<(]|(?:const|let|var)\s+[\w{[]|(?:if|for|while|switch|elif|except|catch|with)\b.*[{:]$|return\b.*;?$|#include\b|#!|\/\/|\/\*|\*\/|@\w+(?:\(|$)|<\/?[a-z][\w-]*[\s>/]|(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER)\s.*|package\s+[\w.]+;?$|using\s+[\w.]+;$)/;
const CODE_END = /(?:[;{}]|\)\s*\{|=>|\]\),?|^\s*[)\]}]+[,;]?|["'\d\]}]\s*,)$/;
const CODE_WITHIN = /^\s*[\w.[\]"']+\s*(?:[-+*/|&]?=|:=)\s*\S|\w\([^)]*\)$|^\s{2,}[\w.]+\(.*\)/;

/** Whether the lines look like a program, markup or JSON. */
function isCode(lines: readonly string[]): boolean {
  const strong = shareOf(lines, (line) => CODE_LINE.test(line) || CODE_END.test(line));
  if (strong >= 0.5) return true;
  return (
    strong >= 0.2 &&
    shareOf(lines, (line) => CODE_LINE.test(line) || CODE_END.test(line) || CODE_WITHIN.test(line)) >= 0.6
  );
}

/** A row as `src/documents` writes tables: `city: Köln | sum: 3`. */
const NAMED_CELLS = /^[^|]{1,80}: [^|]*(?: \| [^|]*)* \| [^|:]{1,80}: /;

/**
 * Whether the lines are rows with named cells, Markdown rows, or have short cells and the same number of separators.
 */
function isTable(lines: readonly string[]): boolean {
  if (shareOf(lines, (line) => NAMED_CELLS.test(line)) >= 0.6) return true;
  if (shareOf(lines, (line) => /^\s*\|.*\|/.test(line)) >= 0.8) return true;
  return [/\t/g, /;/g, /,/g, /\|/g].some((separator) => {
    const counts = lines.map((line) => line.replace(/"[^"]*"/g, "").match(separator)?.length ?? 0);
    const usual = counts[0] ?? 0;
    const cells = lines.reduce((sum, line) => sum + line.length, 0) / (lines.length * (usual + 1));
    // Prose also has commas in most lines, but their number differs from line to line, and the parts between them are
    // longer.
    return usual >= 1 && cells <= 40 && counts.filter((count) => count === usual).length >= counts.length * 0.9;
  });
}

const NICK_LINE = /^\s*(?:\[[^\]\n]{1,40}\]\s*|\d{1,2}:\d{2}(?::\d{2})?\s*)?<[@+%~&!]?[^<>\s/]{1,32}>\s+\S/;

/** Whether nearly all lines are `<nick> words`, no line closes an HTML tag, and nicks repeat as in a conversation. */
function isChatLog(lines: readonly string[]): boolean {
  return (
    shareOf(lines, (line) => NICK_LINE.test(line)) >= 0.8 &&
    !lines.some((line) => line.includes("</") || line.includes("/>")) &&
    isConversation(lines)
  );
}

/** Whether most lines are `Speaker: words`, from two or more speakers who repeat often, unlike the keys of a form. */
function isConversation(lines: readonly string[]): boolean {
  const turns = new Map<string, number>();
  let turnCount = 0;
  for (const line of lines) {
    // List items are not counted: turns may be in a list, but most lists with a colon in each item are not
    // conversations.
    const head = /^\s*[-*•>]\s/.test(line) ? null : turnHeadOf(line);
    if (head === null || line.length <= head.units) continue;
    turns.set(head.speaker, (turns.get(head.speaker) ?? 0) + 1);
    turnCount++;
  }
  return turnCount >= LINES_MIN && turnCount >= lines.length * 0.6 && turns.size >= 2 && turns.size <= turnCount * 0.7;
}
