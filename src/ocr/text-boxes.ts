// Finds the lines of text of a picture in the output of the detection model (differentiable binarization, Liao et al.
// 2020): a probability per pixel that it belongs to the middle part of a line.

import type { Point, Quad } from "./picture.ts";

/** Output of the detection model: a probability per pixel, row by row. */
export interface ProbabilityMap {
  readonly width: number;
  readonly height: number;
  readonly values: Float32Array;
}

/**
 * Minimum probability of a pixel that belongs to a line; this and the next three values are those of PP-OCR's
 * configuration.
 */
const PIXEL_MIN = 0.3;
/** Minimum mean probability of a box. */
const BOX_MIN = 0.5;
/** How much a box grows, because the model marks only the middle part of a line. */
const UNCLIP_RATIO = 1.6;
/** Minimum length of the shorter side of a box in pixels of the map, before it grows. */
const SIDE_MIN = 3;
/** Maximum number of boxes of a picture. A page of dense print has 300. */
const BOXES_MAX = 2_000;

/** The boxes of the lines, in pixels of the map. */
export function textBoxes(map: ProbabilityMap): readonly Quad[] {
  return componentsOf(map).flatMap((component) => {
    const box = smallestRectangle(convexHull(component));
    if (box === null || Math.min(box.width, box.height) < SIDE_MIN) return [];
    if (meanWithin(map, box) < BOX_MIN) return [];
    const grow = (box.width * box.height * UNCLIP_RATIO) / (2 * (box.width + box.height));
    return [cornersOf({ ...box, width: box.width + 2 * grow, height: box.height + 2 * grow })];
  });
}

/** A rectangle that may be rotated. */
interface Rectangle {
  readonly middle: Point;
  readonly width: number;
  readonly height: number;
  /** Direction of the width, in radians. */
  readonly angle: number;
}

/** The outermost points of each group of connected pixels, row by row. */
function componentsOf({ width, height, values }: ProbabilityMap): readonly Point[][] {
  // one pixel wider to the right and below, as PP-OCR dilates with a kernel of 2 by 2
  const isText = new Uint8Array(width * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = y * width + x;
      if ((values[at] ?? 0) <= PIXEL_MIN) continue;
      isText[at] = 1;
      if (x + 1 < width) isText[at + 1] = 1;
      if (y + 1 < height) isText[at + width] = 1;
      if (x + 1 < width && y + 1 < height) isText[at + width + 1] = 1;
    }
  }
  const components: Point[][] = [];
  const stack: number[] = [];
  for (let start = 0; start < isText.length && components.length < BOXES_MAX; start++) {
    if (isText[start] !== 1) continue;
    const edges = new Map<number, { left: number; right: number }>();
    stack.push(start);
    isText[start] = 2;
    for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
      const [x, y] = [at % width, Math.floor(at / width)];
      const edge = edges.get(y);
      if (edge === undefined) edges.set(y, { left: x, right: x });
      else if (x < edge.left) edge.left = x;
      else if (x > edge.right) edge.right = x;
      for (let ny = Math.max(0, y - 1); ny <= Math.min(height - 1, y + 1); ny++) {
        for (let nx = Math.max(0, x - 1); nx <= Math.min(width - 1, x + 1); nx++) {
          const next = ny * width + nx;
          if (isText[next] !== 1) continue;
          isText[next] = 2;
          stack.push(next);
        }
      }
    }
    components.push(
      [...edges].flatMap(([y, { left, right }]) => [
        { x: left, y },
        { x: right, y },
      ]),
    );
  }
  return components;
}

/** The corners of the convex hull (Andrew's monotone chain). */
function convexHull(points: readonly Point[]): readonly Point[] {
  const sorted = points.toSorted((a, b) => a.x - b.x || a.y - b.y);
  const half = (list: readonly Point[]) => {
    const chain: Point[] = [];
    for (const point of list) {
      for (;;) {
        const [before, last] = [chain.at(-2), chain.at(-1)];
        if (before === undefined || last === undefined || cross(before, last, point) > 0) break;
        chain.pop();
      }
      chain.push(point);
    }
    return chain.slice(0, -1);
  };
  return sorted.length < 3 ? sorted : [...half(sorted), ...half(sorted.toReversed())];
}

function cross(origin: Point, a: Point, b: Point): number {
  return (a.x - origin.x) * (b.y - origin.y) - (a.y - origin.y) * (b.x - origin.x);
}

/** The rectangle of the smallest area around a convex hull: one of its sides lies on a side of the hull. */
function smallestRectangle(hull: readonly Point[]): Rectangle | null {
  let best: Rectangle | null = null;
  for (const [at, from] of hull.entries()) {
    const to = hull[(at + 1) % hull.length];
    if (to === undefined || (to.x === from.x && to.y === from.y)) continue;
    const angle = Math.atan2(to.y - from.y, to.x - from.x);
    const box = boxAlong(hull, angle);
    if (best === null || box.width * box.height < best.width * best.height) best = box;
  }
  return best;
}

function boxAlong(points: readonly Point[], angle: number): Rectangle {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const across = points.map(({ x, y }) => x * cos + y * sin);
  const down = points.map(({ x, y }) => y * cos - x * sin);
  const [left, right] = [Math.min(...across), Math.max(...across)];
  const [top, bottom] = [Math.min(...down), Math.max(...down)];
  const [u, v] = [(left + right) / 2, (top + bottom) / 2];
  return { middle: { x: u * cos - v * sin, y: u * sin + v * cos }, width: right - left, height: bottom - top, angle };
}

/** The mean probability within a rectangle. */
function meanWithin({ width, height, values }: ProbabilityMap, box: Rectangle): number {
  const corners = cornersOf(box);
  const [xs, ys] = [corners.map(({ x }) => x), corners.map(({ y }) => y)];
  const [cos, sin] = [Math.cos(box.angle), Math.sin(box.angle)];
  let sum = 0;
  let count = 0;
  for (let y = Math.max(0, Math.floor(Math.min(...ys))); y <= Math.min(height - 1, Math.ceil(Math.max(...ys))); y++) {
    for (let x = Math.max(0, Math.floor(Math.min(...xs))); x <= Math.min(width - 1, Math.ceil(Math.max(...xs))); x++) {
      const [dx, dy] = [x - box.middle.x, y - box.middle.y];
      const isOutside =
        Math.abs(dx * cos + dy * sin) > box.width / 2 + 0.5 || Math.abs(dy * cos - dx * sin) > box.height / 2 + 0.5;
      if (isOutside) continue;
      sum += values[y * width + x] ?? 0;
      count++;
    }
  }
  return count === 0 ? 0 : sum / count;
}

/** The corners of a rectangle, from its top left clockwise. */
function cornersOf({ middle, width, height, angle }: Rectangle): Quad {
  // the direction of the width that is closest to the direction of reading
  const turns = Math.round(angle / (Math.PI / 2));
  const upright = angle - (turns * Math.PI) / 2;
  const [across, down] = turns % 2 === 0 ? [width, height] : [height, width];
  const [cos, sin] = [Math.cos(upright), Math.sin(upright)];
  const corner = (u: number, v: number): Point => ({
    x: middle.x + u * across * cos - v * down * sin,
    y: middle.y + u * across * sin + v * down * cos,
  });
  return [corner(-0.5, -0.5), corner(0.5, -0.5), corner(0.5, 0.5), corner(-0.5, 0.5)];
}
