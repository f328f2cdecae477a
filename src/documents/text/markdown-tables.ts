// Writes the tables of a Markdown text (GitHub Flavored Markdown, 4.10) as lines that can be understood alone: each
// value has its column name before it, as in workbooks (office/table.ts). All other lines stay as they are.

import { withDistinctNames } from "../csv/header.ts";
import type { PlaceMark } from "../document.ts";
import { type Cell, type ColumnNames, columnNames, rowLine } from "../office/table.ts";
import { withScripts } from "./markdown-scripts.ts";

/** Maximum number of UTF-16 code units that column names may add to a text. After this limit, they are left out. */
const NAMES_UNITS_MAX = 64 * 1024 * 1024;
/** Maximum length of a line that may belong to a table, in UTF-16 code units, and maximum number of its cells. */
const LINE_UNITS_MAX = 64 * 1024;
const CELLS_MAX = 1_000;
/** Minimum length of a piece of text in UTF-16 code units. When a piece has reached it, the next one begins. */
const PIECE_UNITS = 64 * 1024;
/** Maximum number of lines of front matter, which preparation/outline.ts keeps whole. */
const FRONT_MATTER_LINES_MAX = 100;

/** Marks of quotations and lists, and the white space around them. */
const LEAD = /^(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])[ \t]))*[ \t]*/;
const QUOTES = /^(?:[ \t]*>)*/;
const FENCE = /^(`{3,}|~{3,})/;
const DELIMITER = /^[ \t]*:?-+:?[ \t]*$/;
/** The beginning of a block that ends a table. */
const BLOCK = /^(?:#{1,6}(?:\s|$)|[-*+]\s|\d{1,9}[.)]\s|(?:[-*_][ \t]*){3,}$|<\/?[a-z!])/i;
/** Elements whose content is not Markdown. */
const RAW_BEGIN = /^[ \t]*<(pre|script|style|textarea)(?=[\s>])/i;

interface OpenTable {
  readonly names: ColumnNames;
  /** Lead of its further lines, without list markers. */
  readonly quotes: string;
}

/** Writes the tables of a text as rows with column names. Takes linear time. */
export class NamedRows {
  /** Which lines of the file the lines of the written text are; complete when `of` has ended. */
  readonly marks: PlaceMark[] = [];

  /** The text. To be called once. */
  *of(pieces: Iterable<string>): Generator<string> {
    let piece = "";
    let units = 0;
    let written = 0;
    for (const { text: line, number } of new Tables().lines(linesOf(pieces))) {
      // the line of the file minus the lines before it in the text
      const firstLine = number - written + 1;
      if (this.marks.at(-1)?.line !== firstLine) this.marks.push({ at: units, line: firstLine });
      units += line.length;
      if (line !== "") written++;
      piece += line;
      if (piece.length < PIECE_UNITS) continue;
      yield piece;
      piece = "";
    }
    if (piece !== "") yield piece;
  }
}

/** Reads lines, each with its line feed, and returns them or the rows that are written for them. */
class Tables {
  private table: OpenTable | null = null;
  /** The code fence or the raw element that is open. */
  private fence: string | null = null;
  private raw: string | null = null;
  private namesUnits = 0;
  private isInFrontMatter = false;
  private isAfterBlank = true;
  private isInList = false;

  /** @returns lines, each with the number of its line in the file, from 0; empty for one that is left out */
  *lines(lines: Iterable<string>): Generator<{ readonly text: string; readonly number: number }> {
    let header: string | null = null;
    let number = -1;
    for (const line of lines) {
      number++;
      if (this.isFrontMatter(line, number)) {
        yield { text: line, number };
        continue;
      }
      const text = this.fence === null && this.raw === null && line.length <= LINE_UNITS_MAX ? withScripts(line) : line;
      const isRow = this.isRow(text);
      if (header !== null) {
        const names = isRow ? this.namesOf(header, text) : null;
        if (names !== null) {
          yield { text: this.begin(header, names), number: number - 1 };
          header = null;
          continue;
        }
        yield { text: header, number: number - 1 };
        header = null;
      }
      if (this.table !== null) {
        if (isRow && this.continues(this.table, text)) {
          yield { text: this.row(this.table, text), number };
          continue;
        }
        this.table = null;
      }
      if (isRow && text.includes("|") && this.namesUnits < NAMES_UNITS_MAX) header = text;
      else yield { text, number };
      this.follow(text);
    }
    if (header !== null) yield { text: header, number };
  }

  private isFrontMatter(line: string, number: number): boolean {
    const isRule = line.trimEnd() === "---";
    if (number === 0) this.isInFrontMatter = isRule;
    if (!this.isInFrontMatter) return false;
    const isEnd = number > 0 && (isRule || line.trim() === "" || number >= FRONT_MATTER_LINES_MAX);
    this.isInFrontMatter = !isEnd;
    return true;
  }

  /** Whether a line may belong to a table: it is outside of code and not too long. */
  private isRow(line: string): boolean {
    if (this.fence !== null || this.raw !== null || line.length > LINE_UNITS_MAX) return false;
    const text = line.slice(LEAD.exec(line)?.[0].length);
    const isIndentedCode = this.isAfterBlank && !this.isInList && /^(?: {4}|\t)/.test(line);
    return text.trim() !== "" && !FENCE.test(text) && !RAW_BEGIN.test(text) && !isIndentedCode;
  }

  /** Keeps track of code, lists and blank lines. */
  private follow(line: string): void {
    const text = line.slice(LEAD.exec(line)?.[0].length).trimEnd();
    if (this.raw !== null) {
      if (line.toLowerCase().includes(`</${this.raw}>`)) this.raw = null;
    } else if (this.fence !== null) {
      if (text.startsWith(this.fence) && /^[`~]+$/.test(text)) this.fence = null;
    } else {
      this.fence = FENCE.exec(text)?.[1] ?? null;
      const raw = RAW_BEGIN.exec(line)?.[1]?.toLowerCase();
      if (raw !== undefined && !line.toLowerCase().includes(`</${raw}>`)) this.raw = raw;
      if (/^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]/.test(line)) this.isInList = true;
      else if (/^\S/.test(line) && this.isAfterBlank) this.isInList = false;
    }
    this.isAfterBlank = line.trim() === "";
  }

  /** The column names, if `line` is the delimiter row below a header; null if it is not. */
  private namesOf(header: string, line: string): Cell[] | null {
    const text = line.slice(QUOTES.exec(line)?.[0].length).trim();
    if (!/^[|:\- \t]+$/.test(text) || !text.includes("-")) return null;
    const delimiters = cellsOf(text);
    const names = cellsOf(header.slice(LEAD.exec(header)?.[0].length));
    if (names.length !== delimiters.length || names.length < 2 || names.length > CELLS_MAX) return null;
    if (!delimiters.every((cell) => DELIMITER.test(cell))) return null;
    return withDistinctNames(names.map((name, column) => cellOf(withoutEmphasis(name), column)));
  }

  private begin(header: string, names: readonly Cell[]): string {
    const lead = LEAD.exec(header)?.[0] ?? "";
    this.table = {
      names: columnNames([names]),
      quotes: QUOTES.exec(header)?.[0] ?? "",
    };
    this.isAfterBlank = false;
    const line = rowLine(names, new Map());
    return line === "" ? "" : `${lead}${line}\n`;
  }

  private continues({ quotes }: OpenTable, line: string): boolean {
    if ((QUOTES.exec(line)?.[0].match(/>/g)?.length ?? 0) !== (quotes.match(/>/g)?.length ?? 0)) return false;
    return line.includes("|") && !BLOCK.test(line.slice(QUOTES.exec(line)?.[0].length).trim());
  }

  private row({ names }: OpenTable, line: string): string {
    const quotes = QUOTES.exec(line)?.[0] ?? "";
    const lead = quotes + (/^[ \t]*/.exec(line.slice(quotes.length))?.[0] ?? "");
    const cells = cellsOf(line.slice(lead.length)).map(cellOf);
    const end = line.endsWith("\n") ? "\n" : "";
    const row = rowLine(cells, this.namesUnits < NAMES_UNITS_MAX ? names : new Map());
    this.namesUnits += Math.max(0, row.length - line.length);
    return row === "" ? "" : `${lead}${row}${end}`;
  }
}

/** The cells of a row: the texts between bars that are neither escaped nor part of code. */
function cellsOf(row: string): string[] {
  const text = row.trim().replace(/^\|/, "");
  const cells: string[] = [];
  let cell = "";
  for (let at = 0; at < text.length; at++) {
    const sign = text[at] ?? "";
    if (sign === "\\" && text[at + 1] === "|") {
      cell += "|";
      at++;
    } else if (sign === "|") {
      cells.push(cell.trim());
      cell = "";
    } else cell += sign;
  }
  if (cell.trim() !== "" || cells.length === 0) cells.push(cell.trim());
  return cells;
}

function cellOf(text: string, column: number): Cell {
  // a bar with spaces around it would look like the end of a cell
  const written = text.replace(/<br\s*\/?>/gi, " ").replace(/\s*\|\s*/g, "|");
  return { text: written.trim(), column, span: 1, isBold: false };
}

function withoutEmphasis(name: string): string {
  return name.replace(/\[([^\][]{0,200})\]\([^()\s]{0,500}\)/g, "$1").replace(/\*\*|__|`/g, "");
}

/** Lines with their line feed. */
function* linesOf(pieces: Iterable<string>): Generator<string> {
  let rest = "";
  for (const piece of pieces) {
    rest += piece;
    let from = 0;
    for (let feed = rest.indexOf("\n"); feed !== -1; feed = rest.indexOf("\n", from)) {
      yield rest.slice(from, feed + 1);
      from = feed + 1;
    }
    rest = rest.slice(from);
  }
  if (rest !== "") yield rest;
}
