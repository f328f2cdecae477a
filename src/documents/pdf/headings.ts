// Finds headings and their levels: by font size compared with the body text, by bold type, and by the outline of the
// PDF.

import { endsSentence, isContentsEntry, type TextBlock } from "./blocks.ts";
import type { Bookmark } from "./pdfjs.ts";

/** The level of a heading, 1 (outermost) to 6; null if the block is not a heading. */
export type LevelOf = (block: TextBlock) => number | null;

/** Minimum font size of a heading that is not bold, relative to the body text. */
const LARGER = 1.1;
/** Maximum ratio between font sizes of headings on the same level. */
const SAME_SIZE = 1.06;
/**
 * Maximum number of levels that font size determines. Bold headings in the size of the body text are on the levels
 * below.
 */
const SIZE_LEVELS_MAX = 4;
const LEVEL_MAX = 6;
/**
 * Maximum length of a heading in characters and lines, and of a bold heading in the size of the body text. A longer
 * block is text, whatever its font.
 */
const CHARACTERS_MAX = 200;
const LINES_MAX = 4;
const BOLD_CHARACTERS_MAX = 120;
const BOLD_LINES_MAX = 2;

/** Analyses how a document formats its headings. */
export function headingLevels(blocks: readonly TextBlock[], bookmarks: readonly Bookmark[]): LevelOf {
  const bodySize = mainSize(blocks);
  const isBodyBold = mostlyBold(blocks.filter(({ size }) => size < LARGER * bodySize));
  const sizes = sizeLevels(
    blocks.filter((block) => !block.isAside && isShort(block) && block.size >= LARGER * bodySize),
  );
  const outline = new Set(bookmarks.map(({ title }) => normalised(title)));
  const boldLevel = Math.min(LEVEL_MAX, sizes.length + 1);

  return (block) => {
    if (block.isAside || !isShort(block)) return null;
    if (block.size >= LARGER * bodySize) {
      const level = sizes.findIndex((size) => block.size * SAME_SIZE >= size);
      return Math.min(SIZE_LEVELS_MAX, level === -1 ? sizes.length : level + 1);
    }
    const text = textOf(block);
    if (outline.has(normalised(text))) return boldLevel;
    const isBoldHeading =
      block.isBold &&
      !isBodyBold &&
      block.marker !== "-" &&
      block.size > 0.95 * bodySize &&
      block.lines.length <= BOLD_LINES_MAX &&
      text.length <= BOLD_CHARACTERS_MAX &&
      !/[.,;:]$/.test(text);
    return isBoldHeading ? Math.min(LEVEL_MAX, boldLevel + numberDepth(block)) : null;
  };
}

/** Font size of most of the text. */
function mainSize(blocks: readonly TextBlock[]): number {
  const unitsBySize = new Map<number, number>();
  for (const block of blocks) {
    const size = Math.round(block.size * 4) / 4;
    const units = block.lines.reduce((sum, { text }) => sum + text.length, 0);
    unitsBySize.set(size, (unitsBySize.get(size) ?? 0) + units);
  }
  let main = { size: 0, units: 0 };
  for (const [size, units] of unitsBySize) if (units > main.units) main = { size, units };
  return main.size;
}

function mostlyBold(blocks: readonly TextBlock[]): boolean {
  let [bold, all] = [0, 0];
  for (const block of blocks) {
    const units = block.lines.reduce((sum, { text }) => sum + text.length, 0);
    all += units;
    if (block.isBold) bold += units;
  }
  return bold * 2 > all;
}

/**
 * Font sizes of the heading levels, the outermost first. Sizes on the first page that are larger than all later
 * headings, as in a title, are one level.
 */
function sizeLevels(blocks: readonly TextBlock[]): readonly number[] {
  const first = blocks[0]?.page ?? 0;
  const later = levelsOf(blocks.filter(({ page }) => page > first).map(({ size }) => size));
  if (later.length === 0) return levelsOf(blocks.map(({ size }) => size)).slice(0, SIZE_LEVELS_MAX);
  const titles = blocks.map(({ size }) => size).filter((size) => size > SAME_SIZE * (later[0] ?? 0));
  return [...(titles.length > 0 ? [Math.min(...titles)] : []), ...later].slice(0, SIZE_LEVELS_MAX);
}

function levelsOf(sizes: readonly number[]): readonly number[] {
  const levels: number[] = [];
  for (const size of sizes.toSorted((a, b) => b - a)) {
    const last = levels.at(-1);
    if (last === undefined || size * SAME_SIZE < last) levels.push(size);
  }
  return levels;
}

function isShort(block: TextBlock): boolean {
  const text = textOf(block);
  if (block.lines.length > LINES_MAX || text.length > CHARACTERS_MAX) return false;
  if (endsSentence(text) && text.endsWith(".") && text.length > BOLD_CHARACTERS_MAX) return false;
  if (block.lines.some((line) => isContentsEntry(line.text))) return false;
  return (text.match(/\p{L}/gu)?.length ?? 0) > 1;
}

function textOf(block: TextBlock): string {
  return block.lines.map(({ text }) => text).join(" ");
}

/** Depth of a heading, from its number: 0 for `3 Methods`, 1 for `3.1 Corpora`. */
function numberDepth(block: TextBlock): number {
  return (/^\d+((?:\.\d+)+)/.exec(textOf(block))?.[1]?.split(".").length ?? 1) - 1;
}

/**
 * Normalises a heading or bookmark so that both can be compared. They may differ in spaces, and often only one of them
 * has a number.
 */
function normalised(text: string): string {
  return text
    .toLowerCase()
    .replace(/^\s*(?:chapter\s+)?[\divx.]+\s+/, "")
    .replace(/[^\p{L}\p{N}]+/gu, "");
}
