// Reads a Word document of Word 97 to 2003 (DOC; [MS-DOC]): the body with tables, then notes, comments, headers and
// text boxes. The text lies in pieces of the file; doc-properties.ts knows how it is formatted.

import { ReadFailure } from "../../ports/document-reader.ts";
import { Budget, outcomeOf, READING_LIMITS, refuse } from "../budget.ts";
import { ENCRYPTED, embeddedWarnings, type ReadDocument } from "../document.ts";
import { listItem } from "../office/lists.ts";
import { ScriptedText } from "../office/scripted-text.ts";
import { type Cell, TableRows } from "../office/table.ts";
import { LIST, onOneLine, readable, TextWriter } from "../text-writer.ts";
import { CompoundFile } from "./compound-file.ts";
import { shownByField } from "./doc-forms.ts";
import {
  type CharacterFormat,
  characterFormats,
  type ParagraphFormat,
  PLAIN,
  PLAIN_PARAGRAPH,
  paragraphFormats,
  type Stretch,
  stretchAt,
} from "./doc-properties.ts";

/**
 * The header of the text (FIB, [MS-DOC] 2.5.1): its minimum size in bytes, its magic number, and the offsets of the
 * version, the flags and the lengths of `PARTS`.
 */
const HEADER = { bytes: 0x1aa, magic: 0xa5ec, version: 2, flags: 0x0a, lengths: 0x4c } as const;
/** Offsets in the header at which the position and size of a table are: of characters, of paragraphs, of pieces. */
const TABLE_AT = { characters: 0xfa, paragraphs: 0x102, pieces: 0x1a2 } as const;
const IS_ENCRYPTED = 0x0100;
const HAS_TABLE_1 = 0x0200;
/** First version whose text lies in pieces as described: Word 97. */
const VERSION_97 = 0xc1;
/** The parts of the text, in their order in the file. */
const PARTS = ["body", "footnotes", "headers", "macros", "comments", "endnotes", "boxes", "headerBoxes"] as const;
/** Control characters that end a part of the text or mark a field. */
const SIGN = { cell: 7, line: 0x0b, page: 0x0c, paragraph: 0x0d, column: 0x0e, begin: 0x13, separate: 0x14, end: 0x15 };
const FORM_FIELD = 0x01;
const NOTE = 0x02;
const COMMENT = 0x05;
const HYPHEN = 0x1e;
/** Names of the folders with objects of other programs. */
const EMBEDDED = /^_\d+$/;
/** Number of heading styles, which are the styles 1 to 9. */
const HEADINGS = 9;
const HEADING_LEVEL_MAX = 6;

/** Reads a DOC file. Never throws because of the content. */
export function readDoc(bytes: Uint8Array, limits = READING_LIMITS): ReadDocument | ReadFailure {
  return outcomeOf(() => {
    const file = new CompoundFile(bytes);
    const text = file.stream("WordDocument");
    if (text === null || text.length < HEADER.bytes || text.readUInt16LE(0) !== HEADER.magic) {
      refuse("The file is damaged: its text is missing.");
    }
    const flags = text.readUInt16LE(HEADER.flags);
    if ((flags & IS_ENCRYPTED) !== 0) refuse(ENCRYPTED);
    if (text.readUInt16LE(HEADER.version) < VERSION_97) {
      refuse("The text of documents of Word 95 and before is not read. Save the file as DOCX and upload that.");
    }
    const table = file.stream((flags & HAS_TABLE_1) === 0 ? "0Table" : "1Table");
    if (table === null) refuse("The file is damaged: the list of its parts is missing.");
    const read = new DocReader({ text, table, data: file.stream("Data") }, new Budget(limits)).read();
    const objects = file.folders().filter((name) => EMBEDDED.test(name)).length;
    return read instanceof ReadFailure ? read : { ...read, warnings: embeddedWarnings(objects) };
  });
}

/** A run of characters that is stored in one place of the file. */
interface Piece {
  /** Index of the first character in the text of the document. */
  readonly from: number;
  readonly length: number;
  readonly at: number;
  /** Number of bytes of a character. */
  readonly width: 1 | 2;
}

/** What a paragraph consists of. */
interface Paragraph {
  readonly text: ScriptedText;
  isAllBold: boolean;
  hasText: boolean;
}

class DocReader {
  private readonly text: Buffer;
  private readonly table: Buffer;
  private readonly data: Buffer | null;
  readonly #writer: TextWriter;
  readonly #pieces: readonly Piece[];
  readonly #characters: readonly Stretch<CharacterFormat>[];
  readonly #paragraphs: readonly Stretch<ParagraphFormat>[];
  #notes = 0;
  #paragraph = newParagraph();
  #fields: ("code" | "result")[] = [];
  #cells: Cell[] = [];
  #cellTexts: string[] = [];
  #isCellBold = true;
  #table: TableRows | null = null;

  constructor(
    { text, table, data }: { readonly text: Buffer; readonly table: Buffer; readonly data: Buffer | null },
    private readonly budget: Budget,
  ) {
    this.text = text;
    this.table = table;
    this.data = data;
    this.#writer = new TextWriter(budget);
    this.#characters = characterFormats(text, this.#tableAt(TABLE_AT.characters));
    this.#paragraphs = paragraphFormats(text, this.#tableAt(TABLE_AT.paragraphs));
    this.#pieces = piecesOf(this.#tableAt(TABLE_AT.pieces), text.length);
  }

  read(): ReadDocument | ReadFailure {
    let from = 0;
    const seen = new Set<string>();
    for (const [index, part] of PARTS.entries()) {
      const length = Math.max(0, this.text.readInt32LE(HEADER.lengths + 4 * index));
      if (part === "body") this.#readBody(from, from + length);
      else if (part !== "macros") this.#readApart(part, from, from + length, seen);
      from += length;
    }
    return this.#writer.document(null);
  }

  #tableAt(offset: number): Buffer {
    const [at, bytes] = [this.text.readUInt32LE(offset), this.text.readUInt32LE(offset + 4)];
    return this.table.subarray(at, at + bytes);
  }

  #readBody(from: number, to: number): void {
    for (const { sign, at } of this.#signs(from, to)) {
      if (sign === SIGN.cell || sign === SIGN.paragraph || sign === SIGN.page) this.#endParagraph(sign, at);
      else this.#add(sign, at);
    }
    this.#endParagraph(SIGN.paragraph, -1);
    this.#endTable();
  }

  /**
   * Reads notes, comments, headers and text boxes: each as a paragraph after the body. A repeated header is written
   * once.
   */
  #readApart(part: (typeof PARTS)[number], from: number, to: number, seen: Set<string>): void {
    let label = "";
    let number = 0;
    for (const { sign, at } of this.#signs(from, to)) {
      if ((sign === NOTE && part !== "headers") || (sign === COMMENT && part === "comments")) {
        number++;
        label = part === "comments" ? "comment" : `note ${number}`;
        continue;
      }
      if (sign !== SIGN.paragraph && sign !== SIGN.cell && sign !== SIGN.page) {
        this.#add(sign, at);
        continue;
      }
      const text = onOneLine(this.#takeParagraph());
      const isHeader = part === "headers" || part === "headerBoxes";
      if (text === "" || (isHeader && (seen.has(text) || /^[\p{P}\s\d]*$/u.test(text)))) continue;
      if (isHeader) seen.add(text);
      const prefix = isHeader ? "header" : label;
      this.#writer.write({ text: prefix === "" ? text : `[${prefix}: ${text}]`, series: isHeader ? seen : null });
    }
    this.#paragraph = newParagraph();
    this.#fields = [];
  }

  /** The characters of a range, each with its place in the file. */
  *#signs(from: number, to: number): Generator<{ readonly sign: number; readonly at: number }> {
    let count = 0;
    for (const piece of this.#pieces) {
      const [first, last] = [Math.max(from, piece.from), Math.min(to, piece.from + piece.length)];
      for (let character = first; character < last; character++) {
        const at = piece.at + (character - piece.from) * piece.width;
        if (at + piece.width > this.text.length) return;
        if (count++ % 65_536 === 0) this.budget.checkTime();
        yield { sign: piece.width === 2 ? this.text.readUInt16LE(at) : fromWindows1252(this.text[at] ?? 0), at };
      }
    }
  }

  #add(sign: number, at: number): void {
    if (sign === SIGN.begin) this.#fields.push("code");
    else if (sign === SIGN.separate) {
      this.#fields.pop();
      this.#fields.push("result");
    } else if (sign === SIGN.end) this.#fields.pop();
    if (sign === FORM_FIELD) this.#addFormField(at);
    if (this.#fields.includes("code")) return;
    const format = this.#formatAt(at);
    if (format.isHidden) return;
    const paragraph = this.#paragraph;
    if (sign === NOTE) {
      paragraph.text.add(`[${++this.#notes}]`, "line");
      return;
    }
    const shown = sign === SIGN.line ? "\n" : sign === HYPHEN ? "-" : sign === 9 ? "\t" : sign < 0x20 ? "" : null;
    const text = shown ?? String.fromCharCode(sign);
    if (text.trim() !== "") {
      paragraph.hasText = true;
      if (!format.isBold) paragraph.isAllBold = false;
    }
    paragraph.text.add(text, format.position);
  }

  /** Adds what the form field at this mark shows; the mark stands within the code of its field. */
  #addFormField(at: number): void {
    const { dataAt, isHidden } = this.#formatAt(at);
    const isField = this.#fields.at(-1) === "code" && this.#fields.filter((part) => part === "code").length === 1;
    if (!isField || isHidden || dataAt === null || this.data === null) return;
    const shown = shownByField(this.data, dataAt);
    if (shown === null) return;
    this.#paragraph.hasText = true;
    this.#paragraph.isAllBold = false;
    this.#paragraph.text.add(shown, "line");
  }

  #stretch: Stretch<CharacterFormat> | null = null;

  #formatAt(at: number): CharacterFormat {
    const known = this.#stretch;
    if (known !== null && at >= known.from && at < known.to) return known.format;
    this.#stretch = stretchAt(this.#characters, at);
    return this.#stretch?.format ?? PLAIN;
  }

  #takeParagraph(): string {
    const text = readable(this.#paragraph.text.take());
    this.budget.addText(text.length);
    this.#paragraph = newParagraph();
    return text;
  }

  #endParagraph(sign: number, at: number): void {
    const format = at === -1 ? PLAIN_PARAGRAPH : (stretchAt(this.#paragraphs, at)?.format ?? PLAIN_PARAGRAPH);
    const isBold = this.#paragraph.hasText && this.#paragraph.isAllBold;
    const isBlank = !this.#paragraph.hasText;
    const text = this.#takeParagraph();
    this.#fields = [];
    if (sign === SIGN.cell && format.isRowEnd) {
      this.#endRow();
      return;
    }
    if (sign === SIGN.cell || format.isInTable) {
      if (text !== "") this.#cellTexts.push(text);
      if (!isBlank) this.#isCellBold &&= isBold;
      if (sign === SIGN.cell) this.#endCell();
      return;
    }
    this.#endTable();
    if (text === "") return;
    if (format.style >= 1 && format.style <= HEADINGS) {
      const level = Math.min(format.style, HEADING_LEVEL_MAX);
      this.#writer.write({ text: `${"#".repeat(level)} ${onOneLine(text)}`, series: null });
    } else if (format.isItem) this.#writer.write({ text: listItem(0, null, text), series: LIST });
    else this.#writer.write({ text, series: null });
  }

  #endCell(): void {
    this.budget.addCells(1);
    const text = onOneLine(this.#cellTexts.join(" "));
    this.#cells.push({ text, column: this.#cells.length, span: 1, isBold: text !== "" && this.#isCellBold });
    this.#cellTexts = [];
    this.#isCellBold = true;
  }

  #endRow(): void {
    this.#table ??= new TableRows("likely");
    const table = this.#table;
    for (const text of table.add({ cells: this.#cells, isHeader: false })) {
      this.#writer.write({ text, series: table.series });
    }
    this.#cells = [];
  }

  #endTable(): void {
    if (this.#cells.length > 0) this.#endRow();
    const table = this.#table;
    this.#table = null;
    for (const text of table?.end() ?? []) this.#writer.write({ text, series: table?.series ?? null });
  }
}

function newParagraph(): Paragraph {
  return { text: new ScriptedText(), isAllBold: true, hasText: false };
}

/** The pieces of the text ([MS-DOC] 2.9.38). @throws ReadFailure if the table is damaged */
function piecesOf(table: Buffer, bytes: number): readonly Piece[] {
  let at = 0;
  while (table[at] === 1 && at + 3 <= table.length) at += 3 + table.readUInt16LE(at + 1);
  if (table[at] !== 2 || at + 5 > table.length) refuse("The file is damaged: the list of its parts cannot be read.");
  const list = table.subarray(at + 5, at + 5 + table.readUInt32LE(at + 1));
  const count = Math.max(0, Math.floor((list.length - 4) / 12));
  return Array.from({ length: count }, (_, index): Piece => {
    const [from, to] = [list.readUInt32LE(4 * index), list.readUInt32LE(4 * index + 4)];
    const place = list.readUInt32LE(4 * (count + 1) + 8 * index + 2);
    const isCompressed = (place & 0x40000000) !== 0;
    const offset = place & 0x3fffffff;
    const width = isCompressed ? 1 : 2;
    return { from, length: Math.min(Math.max(0, to - from), bytes), at: isCompressed ? offset / 2 : offset, width };
  });
}

const WINDOWS_1252 = new TextDecoder("windows-1252").decode(Uint8Array.from({ length: 256 }, (_, byte) => byte));

function fromWindows1252(byte: number): number {
  return WINDOWS_1252.charCodeAt(byte);
}
