// Turns the chunk ranges of a text into chunks. The preparation process sends only ranges, and the server, which has
// the content, builds the texts from them (chunk-texts.ts). So a large text crosses the process boundary once.

import type { Chunk } from "../domain/chunk.ts";
import type { AnyText } from "../kit/pieced-text.ts";
import type { Prepared } from "../ports/preparer.ts";
import type { Cut } from "./chunk.ts";
import { CutTexts } from "./chunk-texts.ts";

/** A cut whose ranges are also given in code points: range i is `[codePoints[2i], codePoints[2i + 1])`. */
export interface CodePointCut extends Cut {
  readonly codePoints: ArrayLike<number>;
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
      const isPair =
        (content.charCodeAt(unit) & 0xfc00) === 0xd800 && (content.charCodeAt(unit + 1) & 0xfc00) === 0xdc00;
      if (isPair) {
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

/** The chunks of a content in reading order, and their texts. The texts keep a reference to the whole content. */
export function assemble(content: AnyText, cut: CodePointCut): Pick<Prepared, "chunks" | "texts"> {
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
  return { chunks, texts: new CutTexts(content, cut) };
}
