// From ranges to the texts of chunks. Apart from chunk.ts, so that a large text need not travel twice: the reader sends
// ranges, and whoever holds the content makes the texts.

import { type Chunk, type Turn, turnContext, turnText } from "../domain/chunk.ts";
import type { ChunkRange, Cut } from "./chunk.ts";

/** A cut whose ranges are also known in code points, `points[2i]` and `points[2i + 1]` for range i. */
export interface PlacedCut extends Cut {
  readonly points: ArrayLike<number>;
}

/** What lies between the passages of a context. */
const PASSAGE_BREAK = "\n\n";
/** Turns before and behind a turn in its context: with them words find it that only its neighbours say. */
const CONTEXT_TURNS = 2;

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
  let last = { start: 0, end: 0 };
  for (const [position, range] of cut.ranges.entries()) {
    // The parts of a turn that is one object share its range; all others begin behind the last one's end.
    const isSame = position > 0 && range.start === last.start && range.end === last.end;
    points[2 * position] = isSame ? (points[2 * position - 2] ?? 0) : pointAt(range.start);
    points[2 * position + 1] = isSame ? (points[2 * position - 1] ?? 0) : pointAt(range.end);
    last = range;
  }
  return points;
}

/** The chunks that a cut makes of its content, in reading order. Slices share the content's memory. */
export function assemble(content: string, cut: PlacedCut): Chunk[] {
  const passages = cut.ranges.map(({ start, end, made }) => made ?? content.slice(start, end));
  return cut.ranges.map((range, ordinal) => {
    const { tokens, turn } = range;
    const texts = turn === undefined ? textsOf(cut, passages, ordinal) : turnTexts(cut.ranges, passages, ordinal, turn);
    return {
      ordinal,
      start: cut.points[2 * ordinal] ?? 0,
      end: cut.points[2 * ordinal + 1] ?? 0,
      passage: passages[ordinal] ?? "",
      ...texts,
      tokens,
      headings: range.place.headings,
      ...(turn !== undefined && { turn }),
    };
  });
}

function textsOf(cut: PlacedCut, passages: readonly string[], at: number): Pick<Chunk, "own" | "context"> {
  const range = cut.ranges[at];
  const prefix = (range?.hasTitle ? cut.titlePrefix : "") + (range?.place.prefix ?? "");
  const around = passages.slice(Math.max(0, at - 1), at + 2);
  return {
    own: prefix + (passages[at] ?? ""),
    context: around.length === 1 ? null : prefix + around.join(PASSAGE_BREAK),
  };
}

function turnTexts(
  ranges: readonly ChunkRange[],
  passages: readonly string[],
  at: number,
  turn: Turn,
): Pick<Chunk, "own" | "context"> {
  const around: { turn: Turn; passage: string }[] = [];
  for (let near = Math.max(0, at - CONTEXT_TURNS); near <= at + CONTEXT_TURNS; near++) {
    const neighbour = ranges[near]?.turn;
    if (neighbour?.session === turn.session) around.push({ turn: neighbour, passage: passages[near] ?? "" });
  }
  return {
    own: turnText(turn, passages[at] ?? ""),
    context: around.length === 1 ? null : turnContext(turn, around),
  };
}
