// Which rows of a region form a paragraph, an item of a list or a table. What is a heading is headings.ts's question, how a
// block is written that of markdown.ts.

import { median, quantile, type Row, readsLeftwards, withoutSymbols } from "./segments.ts";
import { tableAt } from "./tables.ts";

/** A part of a page that is read as one. */
export type Block = TextBlock | TableBlock;

/** A paragraph, heading or item. */
export interface TextBlock {
  readonly kind: "text";
  readonly page: number;
  /** Blocks with the same number stand below each other. */
  readonly region: number;
  readonly lines: readonly Line[];
  /** Whether it stands across the page's text: a stamp on the margin, a watermark. */
  readonly isAside: boolean;
  /** What stands before an item: `-` for any bullet, or its number; null for none. */
  readonly marker: string | null;
  readonly size: number;
  readonly isBold: boolean;
  /** Whether its first line stands further in than the others of its region. */
  readonly isIndented: boolean;
  /** Whether its last line goes to the edge: the text may go on elsewhere. */
  readonly isFull: boolean;
}

/** Where a block stands. */
export type BlockPlace = Pick<TextBlock, "page" | "region" | "isAside">;

/** A line of a block. */
export interface Line {
  readonly text: string;
  readonly page: number;
  /** Whether the line ends because something does, not because it is full. */
  readonly isBroken: boolean;
}

/** A table, a text for each row. */
export interface TableBlock {
  readonly kind: "table";
  readonly page: number;
  readonly lines: readonly string[];
}

/** Leading of the rows of a text in sizes, where there are too few to tell. */
const LEADING = 1.2;
/** Rows further apart than this many leadings are not of one paragraph. */
const PARAGRAPH_GAP = 1.3;
/** Rows differing in size by more than this are of different rank. */
const SIZE_TOLERANCE = 0.08;
/** Sizes by which a row must stand further in to begin a paragraph. */
const INDENT_MIN = 0.8;

/** Share of the width that a row leaves free where it ends for a reason. */
const SHORT_SHARE = 0.15;

/** Bullets of any kind; symbol fonts have theirs among the letters of private use. */
const BULLET = /^(?:[•◦‣▪▫●○■□◆◇►▸▶➢➤✓✔∙⁃\ue000-\uf8ff]\s*|[-–—*·o]\s+)(?=\S)/;
const NUMBER = /^(?:(\d{1,3})[.)]|\((?:\d{1,3}|[a-z]|[ivx]{1,5})\)|[a-z]\))\s+(?=\S)/;
/** Dots from an entry to its page number. */
const LEADER = /(?:\s*[.·…_]){4,}\s*/;
const CONTENTS_ENTRY = / … [\divxlc]+$/;
const ENDS_SENTENCE = /[.!?:…。！？؟۔]["'”’»)\]]*$/;

/** The blocks of a region's rows, in order. */
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
      blocks.push({ kind: "table", page: place.page, lines: table.lines });
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

/** Whether a text ends as a sentence, a list's introduction or a heading with a full stop does. */
export function endsSentence(text: string): boolean {
  return ENDS_SENTENCE.test(text);
}

/** Whether a line, as it is shown, is an entry of a table of contents: complete, and no heading however it is set. */
export function isContentsEntry(text: string): boolean {
  return CONTENTS_ENTRY.test(text);
}

/** What the rows of a text have in common. */
interface Setting {
  readonly left: number;
  readonly right: number;
  /** From one row of a paragraph to the next. */
  readonly leading: number;
}

function textBlocks(rows: readonly Row[], place: BlockPlace): TextBlock[] {
  const isLeftwards = readsLeftwards(rows.map(({ text }) => text).join(" "));
  // mirrored, a text from right to left is set as any other
  const set = isLeftwards ? rows.map((row) => ({ ...row, left: -row.right, right: -row.left })) : rows;
  const setting = settingOf(set);
  const groups: Row[][] = [];
  for (const row of set) {
    const group = groups.at(-1);
    if (group === undefined || beginsBlock(row, group, setting)) groups.push([row]);
    else group.push(row);
  }
  return groups.map((group) => blockOf(group, setting, place));
}

function settingOf(rows: readonly Row[]): Setting {
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

function beginsBlock(row: Row, group: readonly Row[], setting: Setting): boolean {
  const above = group.at(-1);
  const first = group[0];
  if (above === undefined || first === undefined) return true;
  const distance = row.baseline - above.baseline;
  const size = Math.max(row.size, above.size);
  if (distance < 0 || distance > PARAGRAPH_GAP * setting.leading * size) return true;
  if (Math.abs(row.size - above.size) > SIZE_TOLERANCE * size || row.isBold !== above.isBold) return true;
  const isOpen = isFull(above, row, setting) && !endsSentence(above.text);
  if (BULLET.test(row.text) || (NUMBER.test(row.text) && !isOpen)) return true;
  const shift = (row.left - above.left) / size;
  const isItem = markerOf(first.text) !== null;
  // a further line of an item stands below its text; one that stands below its marker follows it
  if (isItem) return group.length > 1 && shift < -INDENT_MIN;
  if (shift > INDENT_MIN) return above.left - setting.left < INDENT_MIN * size && !isOpen;
  // back from an indent: the first row's is a paragraph's, a later one's ends what hung below its first line
  if (shift < -INDENT_MIN) return group.length > 1 && !isOpen;
  return !isFull(above, row, setting) && endsSentence(above.text);
}

/** Whether the first word of the row below would not have fitted on a row. */
function isFull(row: Row, below: Row, { right }: Setting): boolean {
  const word = /^\S+/.exec(below.text)?.[0].length ?? 0;
  const wordWidth = (word / Math.max(1, below.text.length)) * (below.right - below.left);
  return row.right + wordWidth + 0.3 * row.size > right;
}

/** Whether a row clearly ends because something does; ragged lines differ a little. */
function isShort(row: Row, below: Row, setting: Setting): boolean {
  return !isFull(row, below, setting) && row.right < setting.right - SHORT_SHARE * (setting.right - setting.left);
}

function blockOf(rows: readonly Row[], setting: Setting, place: BlockPlace): TextBlock {
  const marker = markerOf(rows[0]?.text ?? "");
  const lines = rows.map((row, index): Line => {
    const below = rows[index + 1];
    const text = index === 0 && marker !== null ? row.text.replace(marker.pattern, "") : row.text;
    const isBroken = row.isMonospaced || LEADER.test(row.text) || (below !== undefined && isShort(row, below, setting));
    return { text: shown(text), page: place.page, isBroken };
  });
  const [first, last] = [rows[0], rows.at(-1)];
  return {
    kind: "text",
    ...place,
    lines,
    marker: marker?.written ?? null,
    size: median(rows.map(({ size }) => size)),
    isBold: rows.every(({ isBold }) => isBold),
    isIndented: first !== undefined && first.left - setting.left > INDENT_MIN * first.size,
    isFull: last !== undefined && last.right > setting.right - 2 * last.size,
  };
}

function markerOf(text: string): { readonly pattern: RegExp; readonly written: string } | null {
  if (BULLET.test(text)) return { pattern: BULLET, written: "-" };
  const number = NUMBER.exec(text)?.[1];
  return number === undefined ? null : { pattern: NUMBER, written: `${number}.` };
}

/** Nothing of a rule that is typed; others without the dots that lead to a page number and letters that only a symbol font can show. */
function shown(text: string): string {
  if (/^[-=_*\s]{3,}$/.test(text)) return "";
  return withoutSymbols(text.replace(LEADER, " … "));
}
