// From ranges to the texts of chunks. Apart from chunk.ts, so that a large text need not travel twice: the reader sends
// ranges, and whoever holds the content makes the texts.

import type { Chunk } from "../domain/chunk.ts";
import type { Cut } from "./chunk.ts";

/** A cut whose ranges are also known in code points, `points[2i]` and `points[2i + 1]` for range i. */
export interface PlacedCut extends Cut {
  readonly points: ArrayLike<number>;
}

/** What lies between the passages of a context. */
const PASSAGE_BREAK = "\n\n";

/**
 * The ranges of a cut in Unicode code points: two per range, start and end. A lone surrogate counts as one, as it does
 * once it is stored. Linear in the content's length.
 */
export function codePointsOf(content: string, cut: Cut): Int32Array {
  const points = new Int32Array(cut.ranges.length * 2);
  const hasPairs = /[\ud800-\udbff]/.test(content);
  let unit = 0;
  let pairs = 0;
  const pointAt = (target: number) => {
    for (; hasPairs && unit < target; unit++) {
      const isPair =
        (content.charCodeAt(unit) & 0xfc00) === 0xd800 && (content.charCodeAt(unit + 1) & 0xfc00) === 0xdc00;
      if (isPair) {
        pairs++;
        unit++;
      }
    }
    return target - pairs;
  };
  for (const [position, range] of cut.ranges.entries()) {
    points[2 * position] = pointAt(range.start);
    points[2 * position + 1] = pointAt(range.end);
  }
  return points;
}

/** The chunks that a cut makes of its content, in reading order. Slices share the content's memory. */
export function assemble(content: string, cut: PlacedCut): Chunk[] {
  const passages = cut.ranges.map(({ start, end }) => content.slice(start, end));
  return cut.ranges.map((range, ordinal) => {
    const passage = passages[ordinal] ?? "";
    const prefix = (range.hasTitle ? cut.titlePrefix : "") + range.place.prefix;
    const around = [passages[ordinal - 1], passage, passages[ordinal + 1]].filter((text) => text !== undefined);
    return {
      ordinal,
      start: cut.points[2 * ordinal] ?? 0,
      end: cut.points[2 * ordinal + 1] ?? 0,
      passage,
      own: prefix + passage,
      context: around.length === 1 ? null : prefix + around.join(PASSAGE_BREAK),
      tokens: range.tokens,
      headings: range.place.headings,
    };
  });
}
