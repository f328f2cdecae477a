// Length of texts in characters as the API counts them.

/** Number of Unicode code points. */
export function codePointsOf(text: string): number {
  let points = 0;
  for (const _ of text) points++;
  return points;
}
