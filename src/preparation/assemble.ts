// Turns the chunk ranges of a text into chunks. The preparation process sends only ranges, and the server, which has
// the content, builds the texts from them (chunk-texts.ts). So a large text crosses the process boundary once.

import type { Chunk } from "../domain/chunk.ts";
import type { AnyText } from "../kit/pieced-text.ts";
import { splitsPair } from "../kit/surrogates.ts";
import type { Prepared } from "../ports/preparer.ts";
import type { Cut } from "./chunk.ts";
import { CutTexts } from "./chunk-texts.ts";

/** A cut whose ranges are also given in code points and in lines. */
export interface PlacedCut extends Cut {
  /** Range i is `[codePoints[2i], codePoints[2i + 1])`. */
  readonly codePoints: ArrayLike<number>;
  /** Range i begins in line `lines[2i]` of the content and ends in line `lines[2i + 1]`, from 1. */
  readonly lines: ArrayLike<number>;
}

/**
 * The ranges of a cut in Unicode code points: two numbers per range, start and end. A lone surrogate counts as one code
 * point, because it is stored as U+FFFD. Takes time linear in the length of the content.
 */
export function codePointRanges(content: string, cut: Cut): Int32Array {
  const points = new Int32Array(cut.ranges.length * 2);
  const hasPairs = /[\ud800-\udbff]/.test(content);
  let unit = 0;
  let pairs = 0;
  const pointAt = (target: number) => {
    for (; hasPairs && unit < target; unit++) {
      if (splitsPair(content, unit + 1)) {
        pairs++;
        unit++;
      }
    }
    return target - pairs;
  };
  let last = { start: 0, end: 0 };
  for (const [position, range] of cut.ranges.entries()) {
    // The parts of a JSON turn share the range of its object. Every other range begins after the end of the previous
    // one.
    const isShared = position > 0 && range.start === last.start && range.end === last.end;
    points[2 * position] = isShared ? (points[2 * position - 2] ?? 0) : pointAt(range.start);
    points[2 * position + 1] = isShared ? (points[2 * position - 1] ?? 0) : pointAt(range.end);
    last = range;
  }
  return points;
}

/** The lines of a cut: two numbers per range, first and last line. Takes time linear in the length of the content. */
export function lineRanges(content: string, { ranges }: Cut): Int32Array {
  const lines = new Int32Array(ranges.length * 2);
  const feedFrom = (at: number) => {
    const feed = content.indexOf("\n", at);
    return feed < 0 ? Number.POSITIVE_INFINITY : feed;
  };
  let line = 1;
  // the next line feed is remembered, because looking for it in one long line reads the whole line
  let feed = feedFrom(0);
  const lineAt = (target: number) => {
    for (; feed < target; feed = feedFrom(feed + 1)) line++;
    return line;
  };
  for (const [position, { start, end }] of ranges.entries()) {
    const before = ranges[position - 1];
    const isShared = before?.start === start && before.end === end; // for parts of a JSON turn
    lines[2 * position] = isShared ? (lines[2 * position - 2] ?? 1) : lineAt(start);
    lines[2 * position + 1] = lineAt(end);
  }
  return lines;
}

/** The chunks of a content in reading order, and their texts. The texts keep a reference to the whole content. */
export function assemble(content: AnyText, cut: PlacedCut): Pick<Prepared, "chunks" | "lines" | "texts"> {
  const chunks = cut.ranges.map(({ tokens, turn, section }, ordinal): Chunk => {
    return {
      ordinal,
      start: cut.codePoints[2 * ordinal] ?? 0,
      end: cut.codePoints[2 * ordinal + 1] ?? 0,
      tokens,
      headings: section.headings,
      ...(turn !== undefined && { turn }),
    };
  });
  return { chunks, lines: cut.lines, texts: new CutTexts(content, cut) };
}
