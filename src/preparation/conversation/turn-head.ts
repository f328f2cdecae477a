// How a turn of a conversation begins on its line: time, speaker, colon. Which of such lines are turns and which only look
// like one is the business of lines.ts.

/** The beginning of a line that can be a turn's. */
export interface TurnHead {
  /** Time and day as they stand before or behind the speaker; empty when there are none. */
  readonly time: string;
  /** Without marks of emphasis, never empty. */
  readonly speaker: string;
  /** Units of the line in front of what is said, white space at its start included. */
  readonly units: number;
}

/** Units of a line in which its head ends, if it has one. */
export const HEAD_UNITS_MAX = 160;

// All repetitions are bounded, and so is the text they are tried on.
const CLOCK_TIME =
  "(?:\\d{1,4}[-/.]\\d{1,2}[-/.]\\d{1,4}(?:,?\\s{1,3}|T))?\\d{1,2}:\\d{2}(?::\\d{2}(?:[.,]\\d{1,6})?)?" +
  "(?:[\\s\\u202f]?[ap]\\.?m\\.?)?(?:Z|[+-]\\d{2}:?\\d{2})?";
const BEFORE = "^[\\s\\u200e\\u200f]*(?:[-*•>]\\s{1,3})?";
const TIME_BEFORE = `(?:\\[(?<bracketed>[^\\][\\n]{1,40})\\]\\s{0,3}|\\(?(?<clock>${CLOCK_TIME})\\)?\\s{0,3}(?:[-–—|]\\s{0,3})?)?`;
const NAME =
  "[\\p{L}@\\p{Extended_Pictographic}][\\p{L}\\p{M}\\p{N} .'’_@#&/+\\p{Extended_Pictographic}\\u200d\\ufe0f-]{0,39}?";
const EMPHASIS = "(?:\\*{1,2}|_{1,2})?";
const TIME_BEHIND = "(?:\\s{0,2}[([](?<behind>[^()\\][\\n]{1,40})[)\\]])?";
const NAMED = `${EMPHASIS}(?<name>${NAME})${EMPHASIS}${TIME_BEHIND}${EMPHASIS}\\s?`;
const HEAD = new RegExp(
  `${BEFORE}${TIME_BEFORE}(?:(?:${NAMED}|\\[(?<inBrackets>${NAME})\\]\\s?)[:：]${EMPHASIS}(?![/:\\\\])|<[@+%~&!]?(?<nick>[^<>\\s/]{1,32})>(?=\\s))\\s*`,
  "iu",
);

/** What can be a turn's beginning, on one line of a text; null when the line has none. Looks at its first 160 units. */
export function turnHeadOf(line: string): TurnHead | null {
  const match = HEAD.exec(line.slice(0, HEAD_UNITS_MAX));
  if (match === null) return null;
  const { bracketed, clock, behind, name, inBrackets, nick } = match.groups ?? {};
  const speaker = (name ?? inBrackets ?? nick ?? "").replace(/\s+/g, " ").trim();
  return speaker === "" ? null : { time: bracketed ?? clock ?? behind ?? "", speaker, units: match[0].length };
}
