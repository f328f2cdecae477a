// What stands together on a line: runs become segments, stretches without a gap as wide as between columns or cells, and
// segments become rows. Which of them are read after each other is columns.ts's question.

import type { Run } from "./pdfjs.ts";

/** A stretch of a line without a wide gap in it. In points, as `Run`. */
export interface Segment {
  /** In logical order. */
  readonly text: string;
  readonly left: number;
  readonly right: number;
  readonly baseline: number;
  /** Of the font that most of it is in. */
  readonly size: number;
  /** Whether most of it is. */
  readonly isBold: boolean;
  readonly isMonospaced: boolean;
}

/** Segments of one line, from left to right. */
export interface Row extends Segment {
  readonly segments: readonly Segment[];
}

/** Sizes between two runs from which on they are apart: columns and cells are, words of a justified line hardly ever. */
const WIDE_GAP = 0.85;
/** Sizes between two runs from which on a space is between them (pdf.js takes the same). */
const SPACE_GAP = 0.1;
/** Sizes by which baselines on one line may differ: what is lowered or raised stays on it. */
const LINE_TOLERANCE = 0.4;
const SAME_BASELINE = 0.15;
/** What is larger than this many times another text has that one below it, not beside it. */
const BESIDE_SIZES_MAX = 2;
/** Indices, exponents and marks of footnotes are smaller than this, in sizes of their line, and shifted by less than that. */
const SCRIPT_SIZE = 0.8;
const SCRIPT_SHIFT = 0.7;
/** Sizes of its own between a script and what it follows, and by which a script and the one above it overlap. */
const SCRIPT_GAP = 0.3;
const SCRIPT_OVERLAP = 2;
/** Where a run repeats one that is drawn this close by, in sizes, it only makes that bolder. */
const OVERPRINT = 0.15;
/** Runs looked back at for an overprinted one. */
const OVERPRINT_RUNS = 8;

/** The segments of a page's runs. */
export function segmentsOf(runs: readonly Run[]): readonly Segment[] {
  const groups: Run[][] = [];
  let group: Run[] = [];
  for (const [at, run] of runs.entries()) {
    if (isOverprint(run, runs, at)) continue;
    const last = group.at(-1);
    if (last !== undefined && !goesOn(last, run)) {
      groups.push(group);
      group = [];
    }
    group.push(run);
  }
  if (group.length > 0) groups.push(group);
  return joinedOnLine(groups).map(segmentOf);
}

/** The rows that segments of one column form, downwards. */
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

// What is raised or lowered so far that it has a baseline of its own belongs to the line that it stands in.
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

/** Whether most letters of a text are of scripts that are written from right to left. */
export function readsLeftwards(text: string): boolean {
  const rightToLeft = text.match(/[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/g)?.length ?? 0;
  return rightToLeft > 0 && rightToLeft * 2 > (text.match(/\p{L}/gu)?.length ?? 0);
}

/** A text without the letters of private use, which only a symbol font can show. */
export function withoutSymbols(text: string): string {
  return text.replace(/[\ue000-\uf8ff]\s*/g, "").trim();
}

/** The middle value, by sorting; 0 for none. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The value below which `share` of the values lie; 0 for none. */
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

// Whether a run goes on where the one drawn before it stopped: on its line or a little raised or lowered, without a wide gap.
function goesOn(last: Run, run: Run): boolean {
  const size = Math.max(last.size, run.size);
  const shift = Math.abs(last.baseline - run.baseline);
  const isScript = Math.min(last.size, run.size) < 0.85 * size;
  if (shift > (isScript ? 0.5 : SAME_BASELINE) * size) return false;
  const gap = gapBetween(last, run) / Math.min(last.size, run.size);
  // a script stands beside what it belongs to; small print may run below it
  return shift < SAME_BASELINE * size ? gap < WIDE_GAP : gap < SCRIPT_GAP && gap > -SCRIPT_OVERLAP;
}

/** Negative where they overlap. */
function gapBetween(a: Place, b: Place): number {
  return a.left <= b.left ? b.left - a.right : a.left - b.right;
}

interface Place {
  readonly left: number;
  readonly right: number;
}

interface Extent extends Place {
  readonly runs: readonly Run[];
  readonly baseline: number;
  readonly size: number;
}

// What is drawn apart and stands together all the same: other tools write words in any order, or what is bold at last.
function joinedOnLine(groups: readonly (readonly Run[])[]): Run[][] {
  const lines: Extent[][] = [];
  for (const extent of groups.map(extentOf).sort((a, b) => a.baseline - b.baseline)) {
    const line = lines.at(-1);
    const first = line?.[0];
    const isOnLine =
      first !== undefined && extent.baseline - first.baseline <= SAME_BASELINE * Math.min(first.size, extent.size);
    if (isOnLine) line?.push(extent);
    else lines.push([extent]);
  }
  return lines.flatMap(joinedNeighbours);
}

function joinedNeighbours(line: readonly Extent[]): Run[][] {
  const joined: { runs: Run[]; right: number; size: number }[] = [];
  for (const extent of line.toSorted((a, b) => a.left - b.left)) {
    const last = joined.at(-1);
    const gap = extent.left - (last?.right ?? 0);
    const size = Math.min(last?.size ?? 0, extent.size);
    if (last !== undefined && gap < WIDE_GAP * size && gap > -0.5 * size) {
      last.runs.push(...extent.runs);
      last.right = Math.max(last.right, extent.right);
      last.size = extent.size;
    } else {
      joined.push({ runs: [...extent.runs], right: extent.right, size: extent.size });
    }
  }
  return joined.map(({ runs }) => runs);
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

/** The longest run in the size that most of the text has. */
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

function segmentOf(runs: readonly Run[]): Segment {
  const { left, right, baseline, size } = extentOf(runs);
  const units = runs.reduce((sum, { text }) => sum + text.length, 0);
  const share = (has: (run: Run) => boolean) =>
    runs.reduce((sum, run) => sum + (has(run) ? run.text.length : 0), 0) > 0.8 * units;
  return {
    text: composed(runs),
    left,
    right,
    baseline,
    size,
    isBold: share(({ face }) => face.isBold),
    isMonospaced: share(({ face }) => face.isMonospaced),
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
  };
}

function isSameLine(a: Segment, b: Segment): boolean {
  const size = Math.min(Math.max(a.size, b.size), BESIDE_SIZES_MAX * Math.min(a.size, b.size));
  return Math.abs(a.baseline - b.baseline) <= LINE_TOLERANCE * size;
}

function composed(runs: readonly Run[]): string {
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

// Between letters that run against each other, a space can be part of either run.
function isSpaced(last: Run, run: Run): boolean {
  const [before, after] = [LEFTWARDS.test(last.text), LEFTWARDS.test(run.text)];
  const isTurning = before !== after && WORD.test(last.text) && WORD.test(run.text);
  return isTurning || gapBetween(last, run) > SPACE_GAP * Math.min(last.size, run.size);
}

/** TeX's older fonts draw an accent and then its letter. */
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

const LEFTWARDS = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u;
const WORD = /[\p{L}\p{N}]/u;

/** In reading order: from the right where most of it is written so, with what is written from the left kept that way. */
function ordered<T extends Place & { readonly text: string }>(parts: readonly T[]): readonly T[] {
  if (parts.length < 2) return parts;
  const fromLeft = parts.toSorted((a, b) => a.left - b.left);
  if (!readsLeftwards(parts.map(({ text }) => text).join(""))) return fromLeft;
  const result: T[] = [];
  let leftToRight: T[] = [];
  let neutral: T[] = [];
  for (const part of fromLeft.reverse()) {
    if (LEFTWARDS.test(part.text)) {
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
