// Turns the chunk ranges of a text into chunks. The preparation process sends only ranges, and the server, which holds the
// content, makes the texts from them. So a large text crosses the process boundary once.

import { type Chunk, type Turn, turnContext, turnSentence, turnText } from "../domain/chunk.ts";
import type { Cut } from "./chunk.ts";

/** A cut with its ranges in code points, too: range i is `[codePoints[2i], codePoints[2i + 1])`. */
export interface CodePointCut extends Cut {
  readonly codePoints: ArrayLike<number>;
}

/** Separator between the passages of a context. */
const PASSAGE_BREAK = "\n\n";
/** Turns before and behind a turn in its context, so that full text also finds the turn by words of its neighbours. */
const CONTEXT_TURNS = 2;

/**
 * The ranges of a cut in Unicode code points: two numbers per range, start and end. A lone surrogate counts as one, as it does
 * once it is stored. Takes time linear in the length of the content.
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
    // The parts of a JSON turn share the range of its object. All other ranges begin behind the end of the previous one.
    const isShared = position > 0 && range.start === last.start && range.end === last.end;
    points[2 * position] = isShared ? (points[2 * position - 2] ?? 0) : pointAt(range.start);
    points[2 * position + 1] = isShared ? (points[2 * position - 1] ?? 0) : pointAt(range.end);
    last = range;
  }
  return points;
}

/**
 * The chunks of a content, in reading order. Each access to a text builds it again: all texts together take five times the memory
 * of the content, and only a slice of them is needed at a time.
 */
export function assemble(content: string, cut: CodePointCut): Chunk[] {
  return cut.ranges.map(({ tokens, turn, section }, ordinal): Chunk => {
    return {
      ordinal,
      start: cut.codePoints[2 * ordinal] ?? 0,
      end: cut.codePoints[2 * ordinal + 1] ?? 0,
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
      headings: section.headings,
      ...(turn !== undefined && { turn }),
    };
  });
}

// A slice shares the memory of the content.
function passageOf(content: string, { ranges }: CodePointCut, at: number): string {
  const range = ranges[at];
  return range === undefined ? "" : (range.passage ?? content.slice(range.start, range.end));
}

function titleOf({ ranges, titlePrefix }: CodePointCut, at: number): string {
  return ranges[at]?.hasTitle ? titlePrefix : "";
}

function prefixOf(cut: CodePointCut, at: number): string {
  return titleOf(cut, at) + (cut.ranges[at]?.section.prefix ?? "");
}

function textOf(content: string, cut: CodePointCut, at: number): string {
  return prefixOf(cut, at) + passageOf(content, cut, at);
}

function contextOf(content: string, cut: CodePointCut, at: number): string | null {
  if (cut.ranges.length === 1) return null;
  const near = [at - 1, at, at + 1].filter((position) => position in cut.ranges);
  return prefixOf(cut, at) + near.map((position) => passageOf(content, cut, position)).join(PASSAGE_BREAK);
}

function contextOfTurn(content: string, cut: CodePointCut, at: number, turn: Turn): string | null {
  const around: { turn: Turn; passage: string }[] = [];
  for (let near = Math.max(0, at - CONTEXT_TURNS); near <= at + CONTEXT_TURNS; near++) {
    const neighbour = cut.ranges[near]?.turn;
    if (neighbour?.session === turn.session) around.push({ turn: neighbour, passage: passageOf(content, cut, near) });
  }
  return around.length === 1 ? null : turnContext(turn, around);
}
