// Finds boxes with borders that stand beside each other, such as the panels of a leaflet. Each is read for itself,
// because its lines belong to each other, not to those of the box beside it. ruled-tables.ts finds tables before.

import { type Box, type Frame, positions } from "./borders.ts";
import type { Run } from "./runs.ts";
import { isRightToLeft, rowsOf, type Segment, segmentsOf } from "./segments.ts";

/** Minimum number of lines of a box, and of the longest of the boxes beside each other. */
const LINES_MIN = 2;
const LONGEST_MIN = 3;
/** Minimum distance of two boxes in points. The cells of a table touch each other. */
const APART_MIN = 2;
/** Maximum number of boxes of a page; a drawing has more. */
const BOXES_MAX = 60;

/** The boxes among the frames of a page that contain no other one. */
export function boxesOf(frames: readonly Frame[]): readonly Box[] {
  const boxes = frames.flatMap(({ horizontal, vertical }): Box[] => {
    const [down, across] = [positions(horizontal), positions(vertical)];
    const [top, bottom, left, right] = [down[0], down.at(-1), across[0], across[1]];
    if (down.length < 2 || across.length !== 2) return [];
    if (top === undefined || bottom === undefined || left === undefined || right === undefined) return [];
    return [{ left, right, top, bottom }];
  });
  if (boxes.length > BOXES_MAX) return [];
  return boxes.filter((box) => !boxes.some((other) => other !== box && contains(box, other)));
}

function contains(box: Box, other: Box): boolean {
  return box.left <= other.left && box.right >= other.right && box.top <= other.top && box.bottom >= other.bottom;
}

/** The segments of a page; those in boxes beside each other have their box. */
export function segmentsOfBoxes(runs: readonly Run[], boxes: readonly Box[]): readonly Segment[] {
  const filled = boxes.flatMap((box) => {
    const inside = runs.filter((run) => isWithin(run, box));
    const segments = segmentsOf(inside);
    const lines = rowsOf(segments).length;
    return lines < LINES_MIN ? [] : [{ box, inside, segments, lines }];
  });
  const apart = filled.filter(({ box, lines }) =>
    filled.some((other) => areBeside(box, other.box) && Math.max(lines, other.lines) >= LONGEST_MIN),
  );
  if (apart.length === 0) return segmentsOf(runs);
  const taken = new Set(apart.flatMap(({ inside }) => inside));
  const others = segmentsOf(runs.filter((run) => !taken.has(run)));
  return [...others, ...apart.flatMap(({ box, segments }) => segments.map((segment) => ({ ...segment, box })))];
}

function isWithin({ left, right, baseline, size }: Run, box: Box): boolean {
  const [middle, height] = [(left + right) / 2, baseline - size / 3];
  return middle > box.left && middle < box.right && height > box.top && height < box.bottom;
}

/** Whether two boxes are apart, and at the same height for at least half of the lower one. */
function areBeside(one: Box, other: Box): boolean {
  const shared = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
  const isApart = one.right + APART_MIN <= other.left || other.right + APART_MIN <= one.left;
  return isApart && shared * 2 >= Math.min(one.bottom - one.top, other.bottom - other.top);
}

/** The parts of a region in reading order: each box is one, and so is what is above, between and below the boxes. */
export function boxesApart(segments: readonly Segment[]): readonly (readonly Segment[])[] {
  const byBox = Map.groupBy(segments, ({ box }) => box);
  const rest = (byBox.get(undefined) ?? []).toSorted((a, b) => a.baseline - b.baseline);
  byBox.delete(undefined);
  if (byBox.size === 0) return [segments];
  const fromRight = isRightToLeft(segments.map(({ text }) => text).join(" "));
  const order = fromRight ? -1 : 1;
  const waiting = [...byBox].flatMap(([box, inside]) => (box === undefined ? [] : [{ box, inside }]));
  waiting.sort((a, b) => a.box.top - b.box.top);
  const parts: (readonly Segment[])[] = [];
  while (waiting.length > 0) {
    const first = waiting[0]?.box;
    const count = waiting.findIndex(({ box }) => first !== undefined && box !== first && !areBeside(box, first));
    const band = waiting.splice(0, count === -1 ? waiting.length : count);
    const top = Math.min(...band.map(({ box }) => box.top));
    const below = rest.findIndex(({ baseline }) => baseline > top);
    const above = rest.splice(0, below === -1 ? rest.length : below);
    if (above.length > 0) parts.push(above);
    parts.push(...band.toSorted((a, b) => order * (a.box.left - b.box.left)).map(({ inside }) => inside));
  }
  return rest.length > 0 ? [...parts, rest] : parts;
}
