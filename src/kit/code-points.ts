// The length of texts in Unicode code points, which is what the API calls characters.

/** Number of Unicode code points. */
export function codePointsOf(text: string): number {
  let points = 0;
  for (const _ of text) points++;
  return points;
}
