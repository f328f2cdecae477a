// Builds lines: joins runs without wide gaps into segments, and segments into rows. columns.ts decides the reading
// order.

import type { Box, RuledCell } from "./borders.ts";
import { withScriptsWritten } from "./raised.ts";
import type { Run } from "./runs.ts";

/** Part of a line without a wide gap. Coordinates as in `Run`. */
export interface Segment {
  /** Text in logical order. */
  readonly text: string;
  readonly left: number;
  readonly right: number;
  readonly baseline: number;
  /** Font size of most of the text. */
  readonly size: number;
  /** Whether most of the text is bold. */
  readonly isBold: boolean;
  readonly isMonospaced: boolean;
  /** Its runs, from left to right. Their texts together are the text, but for spaces. */
  readonly parts: readonly SegmentPart[];
  /** Place among the segments of the page in the order in which they were drawn. */
  readonly drawnAt: number;
  /** The cell with borders whose text it is. */
  readonly cell?: RuledCell;
  /** Whether it stands for a whole row of a table with borders. */
  readonly isTableRow?: true;
  /** The box with borders whose text it is part of. */
  readonly box?: Box;
}

/** A part of a segment. */
export interface SegmentPart {
  readonly text: string;
  readonly left: number;
  readonly right: number;
}

/** Segments of one line, from left to right. */
export interface Row extends Segment {
  readonly segments: readonly Segment[];
}

/**
 * Minimum gap between two segments, in font sizes. Gaps between columns and cells are larger, gaps between words rarely
 * are, even in justified lines.
 */
const WIDE_GAP = 0.85;
/**
 * If the gap between two runs is at least this large, in font sizes, a space is written between them (same value as in
 * pdf.js).
 */
const SPACE_GAP = 0.1;
/**
 * Maximum differences between baselines on the same line, in font sizes: if subscripts and superscripts are included,
 * and if they are not.
 */
const LINE_TOLERANCE = 0.4;
const SAME_BASELINE = 0.15;
/** Maximum ratio between font sizes on the same line. */
const BESIDE_SIZES_MAX = 2;
/** Maximum font size and maximum vertical shift of subscripts and superscripts, in font sizes of their line. */
const SCRIPT_SIZE = 0.8;
const SCRIPT_SHIFT = 0.7;
/**
 * Maximum gap before a subscript or superscript, and maximum overlap of a subscript and a superscript; in their own
 * font sizes.
 */
const SCRIPT_GAP = 0.3;
const SCRIPT_OVERLAP = 2;
/**
 * Maximum distance, in font sizes, between a run and its repetition that only makes the text look bold (overprinting).
 */
const OVERPRINT = 0.15;
/** Number of previous runs that are compared to find overprinting. */
const OVERPRINT_RUNS = 8;

/** The segments of a page. */
export function segmentsOf(drawn: readonly Run[]): readonly Segment[] {
  const groups: Run[][] = [];
  let group: Run[] = [];
  const runs = withScriptsWritten(drawn.filter((run, at) => !isOverprint(run, drawn, at)));
  for (const run of runs) {
    const last = group.at(-1);
    if (last !== undefined && !continuesRun(last, run)) {
      groups.push(group);
      group = [];
    }
    group.push(run);
  }
  if (group.length > 0) groups.push(group);
  return joinedOnLine(groups).map(({ runs, drawnAt }) => segmentOf(runs, drawnAt));
}

/** The rows of a column, from top to bottom. */
export function rowsOf(segments: readonly Segment[]): readonly Row[] {
  const rows: Row[] = [];
  let line: Segment[] = [];
  for (const segment of segments.toSorted((a, b) => a.baseline - b.baseline || a.left - b.left)) {
    const first = line[0];
    if (first !== undefined && !isSameLine(line.at(-1) ?? first, segment)) {
      rows.push(rowOf(line));
      line = [];
    }
    line.push(segment);
  }
  if (line.length > 0) rows.push(rowOf(line));
  return withScripts(rows);
}

/** Merges subscripts and superscripts that were found as a separate row into the line that they belong to. */
function withScripts(rows: readonly Row[]): readonly Row[] {
  const result: Row[] = [];
  for (let at = 0; at < rows.length; at++) {
    const [row, below] = [rows[at], rows[at + 1]];
    if (row === undefined) break;
    const above = result.at(-1);
    if (below !== undefined && isScriptOf(row, below)) {
      result.push(rowOf([...row.segments, ...below.segments]));
      at++;
    } else if (above !== undefined && isScriptOf(row, above)) {
      result[result.length - 1] = rowOf([...above.segments, ...row.segments]);
    } else {
      result.push(row);
    }
  }
  return result;
}

function isScriptOf(script: Row, line: Row): boolean {
  return (
    script.size < SCRIPT_SIZE * line.size &&
    script.text.length * 3 < line.text.length &&
    Math.abs(script.baseline - line.baseline) < SCRIPT_SHIFT * line.size &&
    script.left > line.left - line.size &&
    script.right < line.right + 2 * line.size
  );
}

/** Whether most letters of a text are in right-to-left scripts. */
export function isRightToLeft(text: string): boolean {
  const rightToLeft = text.match(/[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/g)?.length ?? 0;
  return rightToLeft > 0 && rightToLeft * 2 > (text.match(/\p{L}/gu)?.length ?? 0);
}

/** Removes private-use characters, which have a meaning only in their symbol font. */
export function withoutSymbols(text: string): string {
  return text.replace(/[\ue000-\uf8ff]\s*/g, "").trim();
}

/** The median; 0 for an empty list. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The value below which `share` of the values lie; 0 for an empty list. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

function isOverprint(run: Run, runs: readonly Run[], at: number): boolean {
  for (let before = at - 1; before >= Math.max(0, at - OVERPRINT_RUNS); before--) {
    const other = runs[before];
    if (other?.text !== run.text) continue;
    const tolerance = OVERPRINT * run.size;
    if (Math.abs(other.left - run.left) < tolerance && Math.abs(other.baseline - run.baseline) < tolerance) return true;
  }
  return false;
}

/** Whether a run continues the previous run: without a wide gap, on the same line or as a subscript or superscript. */
function continuesRun(last: Run, run: Run): boolean {
  const size = Math.max(last.size, run.size);
  const shift = Math.abs(last.baseline - run.baseline);
  const isScript = Math.min(last.size, run.size) < 0.85 * size;
  if (shift > (isScript ? 0.5 : SAME_BASELINE) * size) return false;
  const gap = gapBetween(last, run) / Math.min(last.size, run.size);
  // a subscript or superscript is directly next to its text, whereas small print may be below the text
  return shift < SAME_BASELINE * size ? gap < WIDE_GAP : gap < SCRIPT_GAP && gap > -SCRIPT_OVERLAP;
}

/** Horizontal gap between two ranges; negative if they overlap. */
function gapBetween(a: Span, b: Span): number {
  return a.left <= b.left ? b.left - a.right : a.left - b.right;
}

interface Span {
  readonly left: number;
  readonly right: number;
}

interface Extent extends Span {
  readonly runs: readonly Run[];
  readonly baseline: number;
  readonly size: number;
}

/** Runs of a segment. */
interface Drawn {
  readonly runs: readonly Run[];
  readonly drawnAt: number;
}

/**
 * Joins groups of runs that are next to each other on a line but were not drawn one after the other: some tools draw
 * words in any order, or bold text last.
 */
function joinedOnLine(groups: readonly (readonly Run[])[]): Drawn[] {
  const lines: (Extent & Drawn)[][] = [];
  const extents = groups.map((runs, drawnAt) => ({ ...extentOf(runs), drawnAt }));
  for (const extent of extents.sort((a, b) => a.baseline - b.baseline)) {
    const line = lines.at(-1);
    const first = line?.[0];
    const isOnLine =
      first !== undefined && extent.baseline - first.baseline <= SAME_BASELINE * Math.min(first.size, extent.size);
    if (isOnLine) line?.push(extent);
    else lines.push([extent]);
  }
  return lines.flatMap(joinedNeighbours);
}

function joinedNeighbours(line: readonly (Extent & Drawn)[]): Drawn[] {
  const joined: { runs: Run[]; right: number; size: number; drawnAt: number }[] = [];
  for (const extent of line.toSorted((a, b) => a.left - b.left)) {
    const last = joined.at(-1);
    const gap = extent.left - (last?.right ?? 0);
    const size = Math.min(last?.size ?? 0, extent.size);
    if (last !== undefined && gap < WIDE_GAP * size && gap > -0.5 * size) {
      last.runs.push(...extent.runs);
      last.right = Math.max(last.right, extent.right);
      last.size = extent.size;
      last.drawnAt = Math.min(last.drawnAt, extent.drawnAt);
    } else {
      joined.push({ runs: [...extent.runs], right: extent.right, size: extent.size, drawnAt: extent.drawnAt });
    }
  }
  return joined;
}

function extentOf(runs: readonly Run[]): Extent {
  let [left, right] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const run of runs) {
    left = Math.min(left, run.left);
    right = Math.max(right, run.right);
  }
  const { baseline, size } = mainRun(runs);
  return { runs, left, right, baseline, size };
}

/** The longest run in the font size of most of the text. */
function mainRun(runs: readonly Run[]): Pick<Run, "baseline" | "size"> {
  const bySize = new Map<number, { units: number; longest: Run }>();
  let main: { units: number; longest: Run } | null = null;
  for (const run of runs) {
    const key = Math.round(run.size * 2);
    const known = bySize.get(key) ?? { units: 0, longest: run };
    known.units += run.text.length;
    if (run.text.length > known.longest.text.length) known.longest = run;
    bySize.set(key, known);
    if (main === null || known.units > main.units) main = known;
  }
  return main?.longest ?? { baseline: 0, size: 0 };
}

function segmentOf(runs: readonly Run[], drawnAt: number): Segment {
  const { left, right, baseline, size } = extentOf(runs);
  const units = runs.reduce((sum, { text }) => sum + text.length, 0);
  const share = (has: (run: Run) => boolean) =>
    runs.reduce((sum, run) => sum + (has(run) ? run.text.length : 0), 0) > 0.8 * units;
  return {
    text: joinedText(runs),
    left,
    right,
    baseline,
    size,
    isBold: share(({ face }) => face.isBold),
    isMonospaced: share(({ face }) => face.isMonospaced),
    parts: runs.length === 1 ? runs : runs.toSorted((a, b) => a.left - b.left),
    drawnAt,
  };
}

function rowOf(line: readonly Segment[]): Row {
  const segments = line.toSorted((a, b) => a.left - b.left);
  const main = segments.reduce((best, each) => (each.text.length > best.text.length ? each : best));
  const text = ordered(segments)
    .map((segment) => segment.text)
    .join(" ");
  return {
    segments,
    text,
    left: Math.min(...segments.map(({ left }) => left)),
    right: Math.max(...segments.map(({ right }) => right)),
    baseline: main.baseline,
    size: main.size,
    isBold: segments.every(({ isBold }) => isBold),
    isMonospaced: segments.every(({ isMonospaced }) => isMonospaced),
    parts: [],
    drawnAt: Math.min(...segments.map(({ drawnAt }) => drawnAt)),
  };
}

function isSameLine(a: Segment, b: Segment): boolean {
  const size = Math.min(Math.max(a.size, b.size), BESIDE_SIZES_MAX * Math.min(a.size, b.size));
  return Math.abs(a.baseline - b.baseline) <= LINE_TOLERANCE * size;
}

function joinedText(runs: readonly Run[]): string {
  let text = "";
  let last: Run | null = null;
  for (const run of ordered(runs)) {
    if (last !== null && isSpaced(last, run)) text += " ";
    text += run.text;
    last = run;
  }
  return text
    .replace(/ +/g, " ")
    .replace(/ (?=[\u064b-\u0652\u0670])/g, "")
    .replace(LOOSE_ACCENT, (_, accent: string, letter: string) =>
      `${letter === "\u0131" ? "i" : letter}${COMBINING[accent]}`.normalize("NFC"),
    )
    .trim();
}

/**
 * Whether to write a space between two runs. The gap decides, except between words of different direction: there a
 * space is always written, because the space may be inside one of the runs, so that the gap does not show it.
 */
function isSpaced(last: Run, run: Run): boolean {
  const [before, after] = [RIGHT_TO_LEFT.test(last.text), RIGHT_TO_LEFT.test(run.text)];
  const isTurning = before !== after && WORD.test(last.text) && WORD.test(run.text);
  return isTurning || gapBetween(last, run) > SPACE_GAP * Math.min(last.size, run.size);
}

/** With older TeX fonts, an accent is drawn before its letter. */
const LOOSE_ACCENT = /([\u00a8\u00b4\u02c6\u02c7\u02d8\u02da\u02dc]) ?(\p{L})/gu;
const COMBINING: Readonly<Record<string, string>> = {
  "\u00a8": "\u0308",
  "\u00b4": "\u0301",
  "\u02c6": "\u0302",
  "\u02c7": "\u030c",
  "\u02d8": "\u0306",
  "\u02da": "\u030a",
  "\u02dc": "\u0303",
};

const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u;
const WORD = /[\p{L}\p{N}]/u;

/**
 * Sorts parts of a line into reading order: from right to left if most of the text is right-to-left, but consecutive
 * left-to-right parts keep their order.
 */
function ordered<T extends Span & { readonly text: string }>(parts: readonly T[]): readonly T[] {
  if (parts.length < 2) return parts;
  const fromLeft = parts.toSorted((a, b) => a.left - b.left);
  if (!isRightToLeft(parts.map(({ text }) => text).join(""))) return fromLeft;
  const result: T[] = [];
  let leftToRight: T[] = [];
  let neutral: T[] = [];
  for (const part of fromLeft.reverse()) {
    if (RIGHT_TO_LEFT.test(part.text)) {
      result.push(...leftToRight.reverse(), ...neutral, part);
      leftToRight = [];
      neutral = [];
    } else if (WORD.test(part.text)) {
      leftToRight.push(...(leftToRight.length > 0 ? neutral : []), part);
      if (leftToRight.length === 1) result.push(...neutral);
      neutral = [];
    } else {
      neutral.push(part);
    }
  }
  return [...result, ...leftToRight.reverse(), ...neutral];
}
