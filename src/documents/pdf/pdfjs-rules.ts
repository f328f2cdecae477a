// Finds the ruling lines of a page: straight lines and thin filled boxes along its axes. ruled-tables.ts builds tables
// from them.

import type { PDFPageProxy } from "unpdf/pdfjs";
import type { Rule } from "./borders.ts";

/** Maximum number of ruling lines of a page. A drawing has more. */
const RULES_MAX = 4_000;
/** Minimum length of a line, and maximum thickness of a filled box that is a line, in points. */
const LENGTH_MIN = 4;
const THICKNESS_MAX = 2.5;
/** Maximum difference between the ends of a line along an axis, in points. */
const SLANT_MAX = 0.6;
/** Maximum number of nested graphics states. */
const DEPTH_MAX = 512;

type Transform = readonly number[];
type Point = readonly [across: number, down: number];

/** Converts a point of the page to the coordinates of its text. */
export type ToText = (x: number, y: number) => { readonly across: number; readonly down: number };

/**
 * The ruling lines of a page; an empty array if there are too many.
 * @param multiply the product of two transforms; the right one is applied first
 */
export async function rulesOf(
  page: PDFPageProxy,
  multiply: (left: Transform, right: Transform) => Transform,
  toText: ToText,
): Promise<readonly Rule[]> {
  const { OPS } = await import("unpdf/pdfjs");
  const { fnArray, argsArray } = await page.getOperatorList();
  const strokes = new Set<number>([OPS.stroke, OPS.closeStroke, OPS.fillStroke, OPS.closeFillStroke]);
  const fills = new Set<number>([OPS.fill, OPS.eoFill]);
  const rules: Rule[] = [];
  let place: Transform = page.getViewport({ scale: 1 }).transform;
  const saved: Transform[] = [];
  const save = () => void (saved.length < DEPTH_MAX && saved.push(place));
  for (const [at, operator] of fnArray.entries()) {
    const args = (argsArray[at] ?? []) as readonly unknown[];
    if (operator === OPS.save) save();
    else if (operator === OPS.restore) place = saved.pop() ?? place;
    else if (operator === OPS.transform) place = multiply(place, args as Transform);
    else if (operator === OPS.paintFormXObjectBegin) {
      save();
      if (isNumbers(args[0])) place = multiply(place, args[0]);
    } else if (operator === OPS.paintFormXObjectEnd) place = saved.pop() ?? place;
    else if (operator === OPS.constructPath && typeof args[0] === "number") {
      const isStroke = strokes.has(args[0]);
      if (!isStroke && !fills.has(args[0])) continue;
      for (const path of pathsOf(args[1])) {
        const points = path.map(([x, y]): Point => {
          const [, , , , across = 0, down = 0] = multiply(place, [1, 0, 0, 1, x, y]);
          const placed = toText(across, down);
          return [placed.across, placed.down];
        });
        rules.push(...(isStroke ? linesOf(points) : thinBoxOf(points)));
      }
      if (rules.length > RULES_MAX) return [];
    }
  }
  return rules;
}

/** The parts of a path without curves. pdf.js writes a path as operation codes, each with its coordinates. */
function pathsOf(written: unknown): Point[][] {
  const data: unknown = Array.isArray(written) ? written[0] : undefined;
  if (!isNumbers(data)) return [];
  const paths: Point[][] = [];
  let path: Point[] = [];
  const end = () => {
    if (path.length > 1) paths.push(path);
    path = [];
  };
  for (let at = 0; at < data.length; ) {
    const code = data[at];
    const point: Point = [data[at + 1] ?? 0, data[at + 2] ?? 0];
    if (code === MOVE) {
      end();
      path = [point];
      at += 3;
    } else if (code === LINE) {
      path.push(point);
      at += 3;
    } else if (code === CLOSE) {
      const [first] = path;
      if (first !== undefined) path.push(first);
      end();
      at += 1;
    } else if (code === CURVE || code === QUADRATIC) {
      end();
      at += code === CURVE ? 7 : 5;
    } else break;
  }
  end();
  return paths;
}

const MOVE = 0;
const LINE = 1;
const CURVE = 2;
const QUADRATIC = 3;
const CLOSE = 4;

function isNumbers(value: unknown): value is readonly number[] {
  const isList = Array.isArray(value) || value instanceof Float32Array || value instanceof Float64Array;
  return isList && Array.from(value).every((each) => typeof each === "number");
}

/** The lines of a drawn path that run along an axis. */
function linesOf(points: readonly Point[]): Rule[] {
  return points.slice(1).flatMap(([x, y], at): Rule[] => {
    const [fromX, fromY] = points[at] ?? [x, y];
    const [width, height] = [Math.abs(x - fromX), Math.abs(y - fromY)];
    if (height <= SLANT_MAX && width >= LENGTH_MIN) {
      return [{ isHorizontal: true, at: (y + fromY) / 2, from: Math.min(x, fromX), to: Math.max(x, fromX) }];
    }
    if (width <= SLANT_MAX && height >= LENGTH_MIN) {
      return [{ isHorizontal: false, at: (x + fromX) / 2, from: Math.min(y, fromY), to: Math.max(y, fromY) }];
    }
    return [];
  });
}

/** The line that a thin filled box is. */
function thinBoxOf(points: readonly Point[]): Rule[] {
  const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
  const [left, right] = [Math.min(...xs), Math.max(...xs)];
  const [top, bottom] = [Math.min(...ys), Math.max(...ys)];
  const isBox = points.every(([x, y]) => (x === left || x === right) && (y === top || y === bottom));
  if (!isBox) return [];
  if (bottom - top <= THICKNESS_MAX && right - left >= LENGTH_MIN) {
    return [{ isHorizontal: true, at: (top + bottom) / 2, from: left, to: right }];
  }
  if (right - left <= THICKNESS_MAX && bottom - top >= LENGTH_MIN) {
    return [{ isHorizontal: false, at: (left + right) / 2, from: top, to: bottom }];
  }
  return [];
}
