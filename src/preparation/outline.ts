// Splits a text into headings and the blocks between them, as ranges, in one pass over its lines.
// chunk.ts cuts the blocks into chunks; type.ts decides which of the three forms a text has.

/** Layout of a text, which decides how its lines are read. */
export type Form =
  /** Headings, paragraphs, lists, tables and fenced code as in CommonMark. Plain prose is the simplest case of this. */
  | "markdown"
  /** Source code: stanzas separated by blank lines, in which `#` starts a comment, not a heading. */
  | "stanzas"
  /** Each line is a block: rows of a table, turns of a conversation. */
  | "lines";

/** A heading, linked to the heading above it. */
export interface Heading {
  /** Text without markers and emphasis, cut to `HEADING_CHARACTERS_MAX`. */
  readonly text: string;
  /** Level of the heading; 1 is the outermost. */
  readonly level: number;
  /** Start of the heading's line, in UTF-16 code units. */
  readonly start: number;
  /** The nearest earlier heading with a smaller level. */
  readonly parent: Heading | null;
  /** Number of headings above it. */
  readonly depth: number;
}

/**
 * A heading, paragraph or other part of a text that belongs together: `[start, end)` in UTF-16 code units, without the
 * line break after it.
 */
export interface Block {
  readonly kind: "heading" | "paragraph" | "item" | "code" | "table" | "line";
  readonly start: number;
  readonly end: number;
  /** The innermost heading above the block; for a heading, the heading itself. */
  readonly under: Heading | null;
  /**
   * Whether a part of source code begins here that stands by itself, such as a function: its first line is not
   * indented.
   */
  readonly isTopLevel?: boolean;
}

/**
 * Maximum length of a heading in characters. Longer headings are cut, because they are repeated in every chunk below
 * them.
 */
const HEADING_CHARACTERS_MAX = 200;
/** Maximum number of lines of front matter. */
const FRONT_MATTER_LINES_MAX = 100;
/** Number of UTF-16 code units at the start of a line that are read to recognise its kind. */
const LINE_HEAD_UNITS = 16;

const FENCE = /^(`{3,}|~{3,})/;
const HEADING_MARK = /^(#{1,6})(?:[ \t]|$)/;
const ITEM_MARK = /^(?:[-*+•◦‣]|\d{1,9}[.)])[ \t]/;
const UNDERLINE = /^(?:={2,}|-{2,})[ \t\r]*$/;

/**
 * The blocks of a text in reading order. Every character that is not white space belongs to exactly one block.
 * Takes time linear in the length of the text and keeps one block in memory at a time.
 */
export function blocksOf(content: string, form: Form): Generator<Block> {
  return form === "markdown" ? markdownBlocks(content) : plainBlocks(content, form);
}

/** The texts of a heading and of the headings above it, outermost first. */
export function headingTexts(heading: Heading | null): string[] {
  const texts: string[] = [];
  for (let node = heading; node !== null; node = node.parent) texts.push(node.text);
  return texts.reverse();
}

/** The innermost heading that both headings have in common; null if there is none. */
export function commonHeading(a: Heading | null, b: Heading | null): Heading | null {
  while (a !== b) {
    if (a === null || b === null) return null;
    if (a.depth >= b.depth) a = a.parent;
    else b = b.parent;
  }
  return a;
}

/** Removes from a text the Markdown markers at its start, and the marks of emphasis, links and code. */
export function withoutMarkup(text: string): string {
  return text
    .replace(/^(?:\s*(?:#{1,6}[ \t]+|>[ \t]?|(?:[-*+•◦‣]|\d{1,9}[.)])[ \t]+))+/, "")
    .replace(/!?\[([^\][]{0,200})\]\([^()\s]{0,500}\)/g, "$1")
    .replace(/(\*\*|__|`)(?=\S)/g, "")
    .replace(/(?<=\S)(\*\*|__|`)/g, "")
    .replace(/[ \t]+#+[ \t]*$/, "")
    .replace(/\s+/g, " ")
    .trim();
}

interface Line {
  readonly start: number;
  /** End of the line without its line feed. A carriage return before the line feed is part of the line. */
  readonly end: number;
  /** Position of the first character that is not a space, tab or carriage return; `end` if the line is blank. */
  readonly text: number;
}

function lineAt(content: string, start: number): Line {
  const feed = content.indexOf("\n", start);
  const end = feed === -1 ? content.length : feed;
  let text = start;
  while (text < end) {
    const unit = content.charCodeAt(text);
    if (unit !== 0x20 && unit !== 0x09 && unit !== 0x0d) break;
    text++;
  }
  return { start, end, text };
}

function* plainBlocks(content: string, form: "stanzas" | "lines"): Generator<Block> {
  let stanza = null as { start: number; end: number; isTopLevel: boolean } | null;
  for (let at = 0; at < content.length; ) {
    const line = lineAt(content, at);
    at = line.end + 1;
    const isBlank = line.text === line.end;
    if (form === "lines") {
      if (!isBlank) yield { kind: "line", start: line.start, end: line.end, under: null };
    } else if (!isBlank) {
      stanza = {
        start: stanza?.start ?? line.start,
        end: line.end,
        isTopLevel: stanza?.isTopLevel ?? (line.text === line.start && !/[)\]}]/.test(content.charAt(line.text))),
      };
    } else if (stanza !== null) {
      yield { kind: "code", ...stanza, under: null };
      stanza = null;
    }
  }
  if (stanza !== null) yield { kind: "code", ...stanza, under: null };
}

type LineKind = "blank" | "fence" | "heading" | "table" | "item" | "row" | "text";

/**
 * Separator between the cells of a table row, as `src/documents` writes tables. Each such line names its columns, so
 * that it can be understood alone.
 */
const CELL_BREAK = " | ";
/** The first cell of a row must end within this many UTF-16 code units. */
const FIRST_CELL_UNITS_MAX = 2_048;

function kindOf(content: string, line: Line): LineKind {
  if (line.text === line.end) return "blank";
  const indent = line.text - line.start;
  switch (content[line.text]) {
    case "#":
      return indent <= 3 && HEADING_MARK.test(headOf(content, line)) ? "heading" : "text";
    case "`":
    case "~":
      return indent <= 3 && FENCE.test(headOf(content, line)) ? "fence" : "text";
    case "|":
      return "table";
    default:
      if (ITEM_MARK.test(headOf(content, line))) return "item";
      return content.slice(line.text, Math.min(line.end, line.text + FIRST_CELL_UNITS_MAX)).includes(CELL_BREAK)
        ? "row"
        : "text";
  }
}

function headOf(content: string, line: Line): string {
  return content.slice(line.text, Math.min(line.end, line.text + LINE_HEAD_UNITS));
}

/** The block that is being read; later lines may continue it. */
interface OpenBlock {
  readonly kind: "paragraph" | "item" | "table";
  readonly start: number;
  readonly end: number;
  readonly lines: number;
}

function* markdownBlocks(content: string): Generator<Block> {
  let under: Heading | null = null;
  let at = frontMatterEnd(content);
  if (at > 0) yield { kind: "code", start: 0, end: at, under };
  let open = null as OpenBlock | null;

  while (at < content.length) {
    const line = lineAt(content, at);
    const kind = kindOf(content, line);
    at = line.end + 1;

    if (open !== null && continuesBlock(open, kind)) {
      if (open.kind === "paragraph" && open.lines === 1 && isUnderline(content, line)) {
        under = headingBelow(
          under,
          content.slice(open.start, open.end),
          content[line.text] === "=" ? 1 : 2,
          open.start,
        );
        yield { kind: "heading", start: open.start, end: line.end, under };
        open = null;
      } else {
        open = { ...open, end: line.end, lines: open.lines + 1 };
      }
      continue;
    }
    if (open !== null) {
      yield { kind: open.kind, start: open.start, end: open.end, under };
      open = null;
    }
    if (kind === "heading") {
      const level = HEADING_MARK.exec(headOf(content, line))?.[1]?.length ?? 1;
      under = headingBelow(under, content.slice(line.text, line.end), level, line.start);
      yield { kind, start: line.start, end: line.end, under };
    } else if (kind === "fence") {
      const end = fenceEnd(content, line);
      yield { kind: "code", start: line.start, end, under };
      at = end + 1;
    } else if (kind === "row") {
      yield { kind: "line", start: line.start, end: line.end, under };
    } else if (kind !== "blank") {
      open = { kind: kind === "text" ? "paragraph" : kind, start: line.start, end: line.end, lines: 1 };
    }
  }
  if (open !== null) yield { kind: open.kind, start: open.start, end: open.end, under };
}

/**
 * Whether a line continues the open block: a table is continued only by lines that begin with `|`, a paragraph or list
 * item by any text (CommonMark's lazy continuation lines), and a list item also by a table.
 */
function continuesBlock(open: OpenBlock, kind: LineKind): boolean {
  if (open.kind === "table") return kind === "table";
  return kind === "text" || (kind === "table" && open.kind === "item");
}

function isUnderline(content: string, line: Line): boolean {
  const first = content[line.text];
  if (first !== "=" && first !== "-") return false;
  // A longer row of dashes is a horizontal rule, not the underline of a heading.
  return line.end - line.text <= HEADING_CHARACTERS_MAX && UNDERLINE.test(content.slice(line.text, line.end));
}

function headingBelow(last: Heading | null, line: string, level: number, start: number): Heading {
  let parent = last;
  while (parent !== null && parent.level >= level) parent = parent.parent;
  const text = withoutMarkup(line.slice(0, 2 * HEADING_CHARACTERS_MAX))
    .slice(0, HEADING_CHARACTERS_MAX)
    .toWellFormed();
  return { text, level, start, parent, depth: parent === null ? 0 : parent.depth + 1 };
}

/** End of the line that closes the code fence `opening`; the end of the text if no line closes it. */
function fenceEnd(content: string, opening: Line): number {
  const fence = FENCE.exec(headOf(content, opening))?.[1] ?? "```";
  for (let at = opening.end + 1; at < content.length; ) {
    const line = lineAt(content, at);
    if (content.startsWith(fence, line.text)) return line.end;
    at = line.end + 1;
  }
  return content.length;
}

/**
 * End of the front matter, which is a block between two lines `---` at the beginning of the text; 0 if there is none.
 */
function frontMatterEnd(content: string): number {
  const first = lineAt(content, 0);
  if (!isRule(content, first)) return 0;
  let at = first.end + 1;
  for (let lines = 0; lines < FRONT_MATTER_LINES_MAX && at < content.length; lines++) {
    const line = lineAt(content, at);
    if (isRule(content, line)) return line.end;
    // Front matter has no blank lines. So the first `---` was a horizontal rule.
    if (line.text === line.end) return 0;
    at = line.end + 1;
  }
  return 0;
}

function isRule(content: string, line: Line): boolean {
  return (
    line.text === line.start && line.end - line.start <= 4 && content.slice(line.start, line.end).trimEnd() === "---"
  );
}
