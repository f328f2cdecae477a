// From ranges to the texts of chunks. Apart from chunk.ts, so that a large text need not travel twice: the reader sends
// ranges, and whoever holds the content makes the texts.

import { type Chunk, type Turn, turnContext, turnSentence, turnText } from "../domain/chunk.ts";
import type { Cut } from "./chunk.ts";

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

/**
 * The chunks that a cut makes of its content, in reading order. Their texts are made anew each time that they are read: together
 * they take five times the room of the content, and no more than a slice of them is needed at once.
 */
export function assemble(content: string, cut: PlacedCut): Chunk[] {
  return cut.ranges.map(({ tokens, turn, place }, ordinal): Chunk => {
    return {
      ordinal,
      start: cut.points[2 * ordinal] ?? 0,
      end: cut.points[2 * ordinal + 1] ?? 0,
      get passage() {
        return passageOf(content, cut, ordinal);
      },
      get embedded() {
        return turn === undefined ? titleOf(cut, ordinal) + this.passage : turnSentence(turn, this.passage);
      },
      get own() {
        return turn === undefined ? textOf(content, cut, ordinal) : turnText(turn, this.passage);
      },
      get context() {
        return turn === undefined ? contextOf(content, cut, ordinal) : contextOfTurn(content, cut, ordinal, turn);
      },
      tokens,
      headings: place.headings,
      ...(turn !== undefined && { turn }),
    };
  });
}

// Slices share the content's memory.
function passageOf(content: string, { ranges }: PlacedCut, at: number): string {
  const range = ranges[at];
  return range === undefined ? "" : (range.made ?? content.slice(range.start, range.end));
}

function titleOf({ ranges, titlePrefix }: PlacedCut, at: number): string {
  return ranges[at]?.hasTitle ? titlePrefix : "";
}

function prefixOf(cut: PlacedCut, at: number): string {
  return titleOf(cut, at) + (cut.ranges[at]?.place.prefix ?? "");
}

function textOf(content: string, cut: PlacedCut, at: number): string {
  return prefixOf(cut, at) + passageOf(content, cut, at);
}

function contextOf(content: string, cut: PlacedCut, at: number): string | null {
  if (cut.ranges.length === 1) return null;
  const near = [at - 1, at, at + 1].filter((position) => position in cut.ranges);
  return prefixOf(cut, at) + near.map((position) => passageOf(content, cut, position)).join(PASSAGE_BREAK);
}

function contextOfTurn(content: string, cut: PlacedCut, at: number, turn: Turn): string | null {
  const around: { turn: Turn; passage: string }[] = [];
  for (let near = Math.max(0, at - CONTEXT_TURNS); near <= at + CONTEXT_TURNS; near++) {
    const neighbour = cut.ranges[near]?.turn;
    if (neighbour?.session === turn.session) around.push({ turn: neighbour, passage: passageOf(content, cut, near) });
  }
  return around.length === 1 ? null : turnContext(turn, around);
}
