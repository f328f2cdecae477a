// Rectangles on a picture, with which labels find free space.

/** A rectangle in the units of the picture. y grows downwards. */
export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

interface Place {
  readonly x: number;
  readonly y: number;
}

/** The rectangle around a centre, from half of its width and half of its height. */
export function boxAround({ x, y }: Place, halfWidth: number, halfHeight: number): Box {
  return { left: x - halfWidth, right: x + halfWidth, top: y - halfHeight, bottom: y + halfHeight };
}

/** Whether two rectangles do not overlap. */
export function areApart(one: Box, other: Box): boolean {
  return one.right < other.left || one.left > other.right || one.bottom < other.top || one.top > other.bottom;
}

/** Distance from a point to a rectangle; 0 if it lies inside. */
export function distanceToBox(place: Place, box: Box): number {
  const nearest = nearestIn(box, place);
  return Math.hypot(nearest.x - place.x, nearest.y - place.y);
}

/** The middle of a rectangle. */
export function middleOf({ left, right, top, bottom }: Box): Place {
  return { x: (left + right) / 2, y: (top + bottom) / 2 };
}

/** Whether a rectangle lies inside a picture, so many units away from its edges. */
export function isInside({ left, right, top, bottom }: Box, width: number, height: number, edge: number): boolean {
  return left >= edge && top >= edge && right <= width - edge && bottom <= height - edge;
}

/** The place in a box that is nearest to another place. */
export function nearestIn({ left, right, top, bottom }: Box, { x, y }: Place): Place {
  return { x: Math.max(left, Math.min(right, x)), y: Math.max(top, Math.min(bottom, y)) };
}

/** Whether the line from `a` to `b` meets the one from `c` to `d`. Lines of the same direction do not count. */
export function doCross(a: Place, b: Place, c: Place, d: Place): boolean {
  const side = (from: Place, to: Place, { x, y }: Place) =>
    (to.x - from.x) * (y - from.y) - (to.y - from.y) * (x - from.x);
  return side(a, b, c) * side(a, b, d) < 0 && side(c, d, a) * side(c, d, b) < 0;
}

/** Whether a line from one place to another goes through a box (Liang and Barsky). */
export function crosses({ left, right, top, bottom }: Box, a: Place, b: Place): boolean {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  let [enters, leaves] = [0, 1];
  for (const [step, room] of [
    [-dx, a.x - left],
    [dx, right - a.x],
    [-dy, a.y - top],
    [dy, bottom - a.y],
  ] as const) {
    if (step === 0) {
      if (room < 0) return false;
    } else if (step < 0) enters = Math.max(enters, room / step);
    else leaves = Math.min(leaves, room / step);
  }
  return enters <= leaves;
}
