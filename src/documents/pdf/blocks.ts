// Groups the rows of a region into paragraphs, list items and tables. headings.ts finds headings; markdown.ts writes
// the blocks.

import { isRightToLeft, median, quantile, type Row, withoutSymbols } from "./segments.ts";
import type { TableContent } from "./table-header.ts";
import { tableAt } from "./tables.ts";

/** A paragraph, heading, list item or table. */
export type Block = TextBlock | TableBlock;

/** A paragraph, heading or list item. */
export interface TextBlock {
  readonly kind: "text";
  readonly page: number;
  /** Number of the region of the page (see columns.ts). The blocks of a region do not continue each other. */
  readonly region: number;
  readonly lines: readonly Line[];
  /** Whether the text has another direction than most text of the page, like a stamp on the margin or a watermark. */
  readonly isAside: boolean;
  /** Whether it stands in a box: text outside of the box does not continue it. */
  readonly isBoxed?: boolean;
  /** Marker of a list item: `-` for any bullet, or the number of the item; null if the block is not a list item. */
  readonly marker: string | null;
  readonly size: number;
  readonly isBold: boolean;
  /** Whether the first line is indented, compared with the other lines of the region. */
  readonly isIndented: boolean;
  /** Whether the last line is full, so that the text may continue elsewhere. */
  readonly isFull: boolean;
  readonly extent?: Extent;
}

/** Vertical extent of a block on its page, in the coordinates of runs. */
export interface Extent {
  readonly top: number;
  readonly bottom: number;
}

/** The position of a block in the document. */
export type BlockPlace = Pick<TextBlock, "page" | "region" | "isAside" | "isBoxed">;

/** A line of a block. */
export interface Line {
  readonly text: string;
  readonly page: number;
  /** Whether the writer intended a line break after the line. Otherwise the line ends only because it is full. */
  readonly isBroken: boolean;
}

/** A table; each line is a row. */
export interface TableBlock {
  readonly kind: "table";
  readonly page: number;
  readonly lines: readonly string[];
  /** The cells, if the table may continue on the next page. */
  readonly content?: TableContent;
  /** Absent for a table that is no part of the page, such as a note. */
  readonly extent?: Extent;
}

/** Distance between baselines, in font sizes, that is assumed if there are too few rows to measure it. */
const LEADING = 1.2;
/** Maximum distance between rows of a paragraph, as a multiple of the usual distance of rows. */
const PARAGRAPH_GAP = 1.3;
/** Maximum difference of font size between rows of a block, as a share of the size. */
const SIZE_TOLERANCE = 0.08;
/** Minimum indent of a first line, in font sizes. */
const INDENT_MIN = 0.8;

/** Minimum share of the width that is free after a row with an intended line break. */
const SHORT_SHARE = 0.15;

/** Matches bullets. In symbol fonts they are private-use characters. */
const BULLET = /^(?:[•◦‣▪▫●○■□◆◇►▸▶➢➤✓✔∙⁃\ue000-\uf8ff]\s*|[-–—*·o]\s+)(?=\S)/;
const NUMBER = /^(?:(\d{1,3})[.)]|\((?:\d{1,3}|[a-z]|[ivx]{1,5})\)|[a-z]\))\s+(?=\S)/;
/** Matches the mark at the beginning of a note or reference. */
const NOTE = /^\[(?:\d{1,3}|[a-z])\]\s+(?=\S)/;
/** Matches dot leaders: the dots between an entry of a table of contents and its page number. */
const LEADER = /(?:\s*[.·…_]){4,}\s*/;
const CONTENTS_ENTRY = / … [\divxlc]+$/;
const ENDS_SENTENCE = /[.!?:…。！？؟۔]["'”’»)\]]*$/;

/** The blocks of a region, in order. */
export function blocksOf(rows: readonly Row[], place: BlockPlace): readonly Block[] {
  const blocks: Block[] = [];
  let text: Row[] = [];
  const endText = () => {
    if (text.length > 0) blocks.push(...textBlocks(text, place));
    text = [];
  };
  for (let at = 0; at < rows.length; ) {
    const table = tableAt(rows, at);
    if (table !== null) {
      endText();
      const extent = extentOf(rows.slice(at, at + table.rowCount));
      blocks.push({
        kind: "table",
        page: place.page,
        lines: table.lines,
        extent,
        ...(table.content !== undefined && { content: table.content }),
      });
      at += table.rowCount;
    } else {
      const row = rows[at];
      if (row !== undefined) text.push(row);
      at++;
    }
  }
  endText();
  return blocks;
}

/** Whether a text ends with the punctuation of a sentence or of an introduction to a list. */
export function endsSentence(text: string): boolean {
  return ENDS_SENTENCE.test(text);
}

/**
 * Whether a line, as it is written to the text, is an entry of a table of contents. No other line continues it, and it
 * is not a heading, whatever its font.
 */
export function isContentsEntry(text: string): boolean {
  return CONTENTS_ENTRY.test(text);
}

/** Usual measures of the rows of a text. */
interface Layout {
  readonly left: number;
  readonly right: number;
  /** Distance of baselines in font sizes. */
  readonly leading: number;
}

function textBlocks(rows: readonly Row[], place: BlockPlace): TextBlock[] {
  const isMirrored = isRightToLeft(rows.map(({ text }) => text).join(" "));
  // mirrors right-to-left text, so that the same rules apply to it
  const mirrored = isMirrored ? rows.map((row) => ({ ...row, left: -row.right, right: -row.left })) : rows;
  const layout = layoutOf(mirrored);
  const groups: Row[][] = [];
  for (const row of mirrored) {
    const group = groups.at(-1);
    if (group === undefined || startsBlock(row, group, layout)) groups.push([row]);
    else group.push(row);
  }
  return groups.map((group) => blockOf(group, layout, place));
}

function layoutOf(rows: readonly Row[]): Layout {
  const distances = rows.slice(1).map((row, index) => (row.baseline - (rows[index]?.baseline ?? 0)) / row.size);
  const close = distances.filter((distance) => distance > 0.8 && distance < 2.2);
  return {
    left: quantile(
      rows.map(({ left }) => left),
      0.25,
    ),
    right: quantile(
      rows.map(({ right }) => right),
      0.9,
    ),
    leading: close.length === 0 ? LEADING : median(close),
  };
}

function startsBlock(row: Row, group: readonly Row[], layout: Layout): boolean {
  const above = group.at(-1);
  const first = group[0];
  if (above === undefined || first === undefined) return true;
  const distance = row.baseline - above.baseline;
  const size = Math.max(row.size, above.size);
  if (distance < 0 || distance > PARAGRAPH_GAP * layout.leading * size) return true;
  if (Math.abs(row.size - above.size) > SIZE_TOLERANCE * size || row.isBold !== above.isBold) return true;
  const isOpen = isFull(above, row, layout) && !endsSentence(above.text);
  if (BULLET.test(row.text) || ((NUMBER.test(row.text) || NOTE.test(row.text)) && !isOpen)) return true;
  const shift = (row.left - above.left) / size;
  const isItem = markerOf(first.text) !== null;
  // a line below the text of an item continues it; a line below its marker does not
  if (isItem) return group.length > 1 && shift < -INDENT_MIN;
  if (shift > INDENT_MIN) return above.left - layout.left < INDENT_MIN * size && !isOpen;
  // the row is less indented than the row above. If that was the first row of the paragraph, only its first line is
  // indented. If it was a later row, a paragraph with hanging indent ends here
  if (shift < -INDENT_MIN) return group.length > 1 && !isOpen;
  return !isFull(above, row, layout) && endsSentence(above.text);
}

/** Whether a row is full: the first word of the row below would not fit on it. */
function isFull(row: Row, below: Row, { right }: Layout): boolean {
  const word = /^\S+/.exec(below.text)?.[0].length ?? 0;
  const wordWidth = (word / Math.max(1, below.text.length)) * (below.right - below.left);
  return row.right + wordWidth + 0.3 * row.size > right;
}

/** Whether a row is so short that its line break is intended. The lengths of ragged lines differ less. */
function isShort(row: Row, below: Row, layout: Layout): boolean {
  return !isFull(row, below, layout) && row.right < layout.right - SHORT_SHARE * (layout.right - layout.left);
}

function blockOf(rows: readonly Row[], layout: Layout, place: BlockPlace): TextBlock {
  const marker = markerOf(rows[0]?.text ?? "");
  const lines = rows.map((row, index): Line => {
    const below = rows[index + 1];
    const text = index === 0 && marker !== null ? row.text.replace(marker.pattern, "") : row.text;
    const isBroken = row.isMonospaced || LEADER.test(row.text) || (below !== undefined && isShort(row, below, layout));
    return { text: writtenText(text), page: place.page, isBroken };
  });
  const [first, last] = [rows[0], rows.at(-1)];
  return {
    kind: "text",
    ...place,
    extent: extentOf(rows),
    lines,
    marker: marker?.written ?? null,
    size: median(rows.map(({ size }) => size)),
    isBold: rows.every(({ isBold }) => isBold),
    isIndented: first !== undefined && first.left - layout.left > INDENT_MIN * first.size,
    isFull: last !== undefined && last.right > layout.right - 2 * last.size,
  };
}

function extentOf(rows: readonly Row[]): Extent {
  const [first, last] = [rows[0], rows.at(-1)];
  if (first === undefined || last === undefined) return { top: 0, bottom: 0 };
  return { top: first.baseline - first.size, bottom: last.baseline };
}

function markerOf(text: string): { readonly pattern: RegExp; readonly written: string } | null {
  if (BULLET.test(text)) return { pattern: BULLET, written: "-" };
  const number = NUMBER.exec(text)?.[1];
  return number === undefined ? null : { pattern: NUMBER, written: `${number}.` };
}

/**
 * The form in which a line is written to the text: without dot leaders and characters of symbol fonts. Empty if the
 * line is only a rule made of typed characters.
 */
function writtenText(text: string): string {
  if (/^[-=_*\s]{3,}$/.test(text)) return "";
  return withoutSymbols(text.replace(LEADER, " … "));
}
