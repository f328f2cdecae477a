// Geometry of convex polygons, with which the regions of a map stay apart.

import { areApart, type Box } from "./boxes.ts";
import type { PlanePoint } from "./point-field.ts";

/** The corners of a rectangle, in order. */
export function cornersOf({ left, right, top, bottom }: Box): readonly PlanePoint[] {
  return [
    { x: left, y: top },
    { x: right, y: top },
    { x: right, y: bottom },
    { x: left, y: bottom },
  ];
}

/** The smallest rectangle around a polygon. */
export function boundsOf(polygon: readonly PlanePoint[]): Box {
  const [across, down] = [extentOf(polygon, 1, 0), extentOf(polygon, 0, 1)];
  return { left: across.least, right: across.most, top: down.least, bottom: down.most };
}

/** The outer ones of some places, in order around them (the convex hull). */
export function hullOf(places: readonly PlanePoint[]): readonly PlanePoint[] {
  const sorted = [...places].sort((a, b) => a.x - b.x || a.y - b.y);
  if (sorted.length < 3) return sorted;
  const half = (those: readonly PlanePoint[]) => {
    const line: PlanePoint[] = [];
    for (const place of those) {
      while (line.length > 1 && turn(line.at(-2) as PlanePoint, line.at(-1) as PlanePoint, place) <= 0) line.pop();
      line.push(place);
    }
    return line.slice(0, -1);
  };
  return [...half(sorted), ...half(sorted.toReversed())];
}

/** Positive for a turn to one side, negative for one to the other, 0 for a straight line. */
function turn(a: PlanePoint, b: PlanePoint, c: PlanePoint): number {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

/** Area of a polygon. */
export function areaOf(polygon: readonly PlanePoint[]): number {
  const sum = polygon.reduce((all, a, at) => {
    const b = polygon[(at + 1) % polygon.length] as PlanePoint;
    return all + a.x * b.y - b.x * a.y;
  }, 0);
  return Math.abs(sum) / 2;
}

/** Smallest distance between a corner of one polygon and an edge of the other. */
export function distanceOf(corners: readonly PlanePoint[], polygon: readonly PlanePoint[]): number {
  const toEdge = (point: PlanePoint, a: PlanePoint, b: PlanePoint) => {
    const [dx, dy] = [b.x - a.x, b.y - a.y];
    const along = dx === 0 && dy === 0 ? 0 : ((point.x - a.x) * dx + (point.y - a.y) * dy) / (dx * dx + dy * dy);
    const share = Math.max(0, Math.min(1, along));
    return Math.hypot(point.x - a.x - share * dx, point.y - a.y - share * dy);
  };
  const distances = corners.flatMap((corner) =>
    polygon.map((a, at) => toEdge(corner, a, polygon[(at + 1) % polygon.length] as PlanePoint)),
  );
  return Math.min(...distances);
}

/** Whether two convex polygons overlap: no edge of either has one of them on each side. */
export function doOverlap(one: readonly PlanePoint[], other: readonly PlanePoint[]): boolean {
  return areApart(boundsOf(one), boundsOf(other))
    ? false
    : !isApartAlong(one, one, other) && !isApartAlong(other, one, other);
}

/** Whether two polygons lie apart in a direction across an edge of a polygon. */
function isApartAlong(
  polygon: readonly PlanePoint[],
  one: readonly PlanePoint[],
  other: readonly PlanePoint[],
): boolean {
  for (const [at, a] of polygon.entries()) {
    const b = polygon[(at + 1) % polygon.length] as PlanePoint;
    const [across, down] = [a.y - b.y, b.x - a.x];
    const [mine, theirs] = [extentOf(one, across, down), extentOf(other, across, down)];
    if (mine.most < theirs.least || theirs.most < mine.least) return true;
  }
  return false;
}

function extentOf(polygon: readonly PlanePoint[], across: number, down: number): { least: number; most: number } {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { x, y } of polygon) {
    const along = x * across + y * down;
    if (along < least) least = along;
    if (along > most) most = along;
  }
  return { least, most };
}
