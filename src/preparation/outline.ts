// Which parts a text has: headings and the blocks between them, as ranges, in one pass over its lines.
// What is cut out of a block is the business of chunk.ts; which of the three forms a text has, that of type.ts.

/** How a text is laid out, and so what its lines mean. */
export type Form =
  /** Headings, paragraphs, lists, tables and fenced code, as CommonMark has them; plain prose is the simple case. */
  | "markdown"
  /** Source code: stanzas between blank lines, in which `#` opens a comment and no heading. */
  | "stanzas"
  /** One line, one unit: rows of a table, turns of a conversation. */
  | "lines";

/** A heading with its place among the headings above it. */
export interface Heading {
  /** Without markers and emphasis, cut to `HEADING_CHARACTERS_MAX`. */
  readonly text: string;
  /** 1 is the outermost. */
  readonly level: number;
  /** Where its line begins, in UTF-16 units. */
  readonly start: number;
  /** The nearest heading before it with a smaller level. */
  readonly parent: Heading | null;
  /** Number of headings above it. */
  readonly depth: number;
}

/** A part of a text that is read as one: `[start, end)` in UTF-16 units, without the line break behind it. */
export interface Block {
  readonly kind: "heading" | "paragraph" | "item" | "code" | "table" | "line";
  readonly start: number;
  readonly end: number;
  /** The heading that the block stands under; a heading stands under itself. */
  readonly under: Heading | null;
}

/** Longer headings are cut: they are repeated in every chunk below them. */
const HEADING_CHARACTERS_MAX = 200;
/** Lines in which front matter must end to be taken for it. */
const FRONT_MATTER_LINES_MAX = 100;
/** Units of a line that decide its kind; what follows cannot change it. */
const LINE_HEAD_UNITS = 16;

const FENCE = /^(`{3,}|~{3,})/;
const HEADING_MARK = /^(#{1,6})(?:[ \t]|$)/;
const ITEM_MARK = /^(?:[-*+•◦‣]|\d{1,9}[.)])[ \t]/;
const UNDERLINE = /^(?:={2,}|-{2,})[ \t\r]*$/;

/**
 * The blocks of a text in reading order. Every character that is not white space lies in exactly one of them.
 * Linear in the text's length; holds one block at a time.
 */
export function blocksOf(content: string, form: Form): Generator<Block> {
  return form === "markdown" ? markdownBlocks(content) : plainBlocks(content, form);
}

/** The texts of a heading and those above it, outermost first. */
export function headingTexts(heading: Heading | null): string[] {
  const texts: string[] = [];
  for (let node = heading; node !== null; node = node.parent) texts.push(node.text);
  return texts.reverse();
}

/** The innermost heading that stands above both, null when there is none. */
export function commonHeading(a: Heading | null, b: Heading | null): Heading | null {
  while (a !== b) {
    if (a === null || b === null) return null;
    if (a.depth >= b.depth) a = a.parent;
    else b = b.parent;
  }
  return a;
}

/** A text without Markdown's markers at its start and its emphasis, links and code marks. */
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
  /** Without the line feed; a carriage return may still be in it. */
  readonly end: number;
  /** First character that is neither space nor tab; `end` when the line is blank. */
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
  let stanza = null as { start: number; end: number } | null;
  for (let at = 0; at < content.length; ) {
    const line = lineAt(content, at);
    at = line.end + 1;
    const isBlank = line.text === line.end;
    if (form === "lines") {
      if (!isBlank) yield { kind: "line", start: line.start, end: line.end, under: null };
    } else if (!isBlank) {
      stanza = { start: stanza?.start ?? line.start, end: line.end };
    } else if (stanza !== null) {
      yield { kind: "code", ...stanza, under: null };
      stanza = null;
    }
  }
  if (stanza !== null) yield { kind: "code", ...stanza, under: null };
}

type LineKind = "blank" | "fence" | "heading" | "table" | "item" | "row" | "text";

/** Between the cells of a row, as the readers of tables write it; each such line can be understood alone. */
const CELL_BREAK = " | ";
/** Units of a line in which its first cell ends. */
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

/** A block whose end is not known yet. */
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

    if (open !== null && goesOn(open, kind)) {
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

/** A table takes rows only; a paragraph or item goes on until something else begins (CommonMark's lazy lines). */
function goesOn(open: OpenBlock, kind: LineKind): boolean {
  if (open.kind === "table") return kind === "table";
  return kind === "text" || (kind === "table" && open.kind === "item");
}

function isUnderline(content: string, line: Line): boolean {
  const first = content[line.text];
  if (first !== "=" && first !== "-") return false;
  // A row of dashes that is no underline any more, but a rule: nobody writes one longer than this.
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

/** Where the fence that `opening` opens is closed: the end of that line, or of the text when it never is. */
function fenceEnd(content: string, opening: Line): number {
  const fence = FENCE.exec(headOf(content, opening))?.[1] ?? "```";
  for (let at = opening.end + 1; at < content.length; ) {
    const line = lineAt(content, at);
    if (content.startsWith(fence, line.text)) return line.end;
    at = line.end + 1;
  }
  return content.length;
}

/** Where a leading block between two lines `---` ends, 0 when the text has none. */
function frontMatterEnd(content: string): number {
  const first = lineAt(content, 0);
  if (!isRule(content, first)) return 0;
  let at = first.end + 1;
  for (let lines = 0; lines < FRONT_MATTER_LINES_MAX && at < content.length; lines++) {
    const line = lineAt(content, at);
    if (isRule(content, line)) return line.end;
    // A blank line means that the first rule was one: front matter has none.
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
