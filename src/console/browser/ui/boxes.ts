// Boxes on a picture, to find room for labels.

/** A box in the units of the picture; y goes down. */
export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** The box around a place, from half of its width and half of its height. */
export function boxAround(
  { x, y }: { readonly x: number; readonly y: number },
  halfWidth: number,
  halfHeight: number,
): Box {
  return { left: x - halfWidth, right: x + halfWidth, top: y - halfHeight, bottom: y + halfHeight };
}

/** Whether two boxes have nothing in common. */
export function areApart(one: Box, other: Box): boolean {
  return one.right < other.left || one.left > other.right || one.bottom < other.top || one.top > other.bottom;
}
