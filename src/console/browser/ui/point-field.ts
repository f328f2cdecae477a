// Geometry of points on a plane: converts between plane and canvas, zooms and moves, and finds points near a place. It
// does not use the page, so that tests can run without one.

/** A point of the plane; both coordinates are in −1..1. */
export interface PlanePoint {
  readonly x: number;
  readonly y: number;
}

/** The visible part of the plane: its centre, and the zoom factor. */
export interface Sight {
  readonly x: number;
  readonly y: number;
  readonly zoom: number;
}

/** The whole plane. */
export const WHOLE: Sight = { x: 0, y: 0, zoom: 1 };
const ZOOM_MAX = 60;
/** Share of the canvas that stays free around the whole plane. */
const MARGIN = 0.16;
/** Maximum of the canvas's longer side divided by its shorter one up to which the plane is stretched to fill it. */
const STRETCH_MAX = 3.6;
/** Cells of the grid in which points are looked for, on each side. */
const CELLS = 64;

/** Size of a canvas, in CSS pixels. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Pixels of one unit of the plane, across and up. A wide canvas stretches it, but only so far. */
function unitOf({ width, height }: Size, { zoom }: Sight): PlanePoint {
  const scale = ((1 - MARGIN) / 2) * zoom;
  return { x: Math.min(width, STRETCH_MAX * height) * scale, y: Math.min(height, STRETCH_MAX * width) * scale };
}

/** Converts a point of the plane to canvas pixels. y grows upwards on the plane and downwards on the canvas. */
export function onCanvas({ x, y }: PlanePoint, size: Size, sight: Sight): PlanePoint {
  const unit = unitOf(size, sight);
  return { x: size.width / 2 + (x - sight.x) * unit.x, y: size.height / 2 - (y - sight.y) * unit.y };
}

/** Converts a canvas pixel to a point of the plane; the inverse of `onCanvas`. */
export function onPlane({ x, y }: PlanePoint, size: Size, sight: Sight): PlanePoint {
  const unit = unitOf(size, sight);
  return { x: sight.x + (x - size.width / 2) / unit.x, y: sight.y - (y - size.height / 2) / unit.y };
}

/** The visible part after zooming by a factor. The point of the plane at canvas pixel `at` stays there. */
export function zoomed(sight: Sight, factor: number, at: PlanePoint, size: Size): Sight {
  const zoom = Math.min(ZOOM_MAX, Math.max(1, sight.zoom * factor));
  if (zoom === 1) return WHOLE;
  const place = onPlane(at, size, sight);
  const after = onPlane(at, size, { ...sight, zoom });
  return within({ x: sight.x + place.x - after.x, y: sight.y + place.y - after.y, zoom });
}

/** The visible part after dragging by some pixels. */
export function moved(sight: Sight, dx: number, dy: number, size: Size): Sight {
  const unit = unitOf(size, sight);
  return within({ ...sight, x: sight.x - dx / unit.x, y: sight.y + dy / unit.y });
}

function within({ x, y, zoom }: Sight): Sight {
  const clamp = (value: number) => Math.max(-1, Math.min(1, value));
  return { x: clamp(x), y: clamp(y), zoom };
}

/** Points moved and stretched so that they reach all edges of the plane; a single one stands in the middle. */
export function spreadOut<Point extends PlanePoint>(points: readonly Point[]): readonly Point[] {
  const axis = (of: (point: Point) => number) => {
    let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const point of points) [least, most] = [Math.min(least, of(point)), Math.max(most, of(point))];
    return (value: number) => (most === least ? 0 : ((value - least) / (most - least)) * 2 - 1);
  };
  const [x, y] = [axis((point) => point.x), axis((point) => point.y)];
  return points.map((point) => ({ ...point, x: x(point.x), y: y(point.y) }));
}

/** Finds points by place. */
export class PointField<Point extends PlanePoint> {
  readonly #cells = new Map<number, number[]>();

  constructor(readonly points: readonly Point[]) {
    for (const [at, point] of points.entries()) {
      const cell = cellOf(point.x) * CELLS + cellOf(point.y);
      const known = this.#cells.get(cell);
      if (known === undefined) this.#cells.set(cell, [at]);
      else known.push(at);
    }
  }

  /** Index of the nearest point within the distance `reach` (in units of the plane); null if there is none. */
  near({ x, y }: PlanePoint, reach: number): number | null {
    let [best, nearest]: [number | null, number] = [null, reach * reach];
    for (let column = cellOf(x - reach); column <= cellOf(x + reach); column++) {
      for (let row = cellOf(y - reach); row <= cellOf(y + reach); row++) {
        for (const at of this.#cells.get(column * CELLS + row) ?? []) {
          const distance = squared(this.points[at] as Point, x, y);
          if (distance <= nearest) [best, nearest] = [at, distance];
        }
      }
    }
    return best;
  }

  /** Indices of the points inside a closed line. */
  within(line: readonly PlanePoint[]): number[] {
    return [...this.points.keys()].filter((at) => isWithin(this.points[at] as Point, line));
  }

  /** Index of the nearest point in a direction from point `from`, for the arrow keys; `from` if there is none. */
  beside(from: number, [dx, dy]: readonly [number, number]): number {
    const start = this.points[from];
    if (start === undefined) return from;
    let [best, least] = [from, Number.POSITIVE_INFINITY];
    for (const [at, point] of this.points.entries()) {
      const along = (point.x - start.x) * dx + (point.y - start.y) * dy;
      const aside = Math.abs((point.x - start.x) * dy) + Math.abs((point.y - start.y) * dx);
      if (along <= 0 || aside > along) continue;
      const cost = along + 2 * aside;
      if (cost < least) [best, least] = [at, cost];
    }
    return best;
  }
}

/** Whether a ray from the point to the right crosses the closed line an odd number of times. */
export function isWithin({ x, y }: PlanePoint, line: readonly PlanePoint[]): boolean {
  let isInside = false;
  for (const [at, a] of line.entries()) {
    const b = line[(at + 1) % line.length] as PlanePoint;
    if (a.y > y !== b.y > y && x < a.x + ((y - a.y) / (b.y - a.y)) * (b.x - a.x)) isInside = !isInside;
  }
  return isInside;
}

function squared(point: PlanePoint, x: number, y: number): number {
  return (point.x - x) ** 2 + (point.y - y) ** 2;
}

function cellOf(value: number): number {
  return Math.max(0, Math.min(CELLS - 1, Math.floor(((value + 1) / 2) * CELLS)));
}
