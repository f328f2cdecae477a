// Rectangles on a picture, with which labels find free space.

/** A rectangle in the units of the picture. y grows downwards. */
export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** The rectangle around a centre, from half of its width and half of its height. */
export function boxAround(
  { x, y }: { readonly x: number; readonly y: number },
  halfWidth: number,
  halfHeight: number,
): Box {
  return { left: x - halfWidth, right: x + halfWidth, top: y - halfHeight, bottom: y + halfHeight };
}

/** Whether two rectangles do not overlap. */
export function areApart(one: Box, other: Box): boolean {
  return one.right < other.left || one.left > other.right || one.bottom < other.top || one.top > other.bottom;
}

/** Distance from a point to a rectangle; 0 if it lies inside. */
export function distanceToBox(
  { x, y }: { readonly x: number; readonly y: number },
  { left, right, top, bottom }: Box,
): number {
  return Math.hypot(Math.max(left - x, 0, x - right), Math.max(top - y, 0, y - bottom));
}

/** The middle of a rectangle. */
export function middleOf({ left, right, top, bottom }: Box): { x: number; y: number } {
  return { x: (left + right) / 2, y: (top + bottom) / 2 };
}

/** Whether a rectangle lies inside a picture, so many units away from its edges. */
export function isInside({ left, right, top, bottom }: Box, width: number, height: number, edge: number): boolean {
  return left >= edge && top >= edge && right <= width - edge && bottom <= height - edge;
}
