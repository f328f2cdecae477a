// Parses the beginning of a line as the head of a turn: time, speaker, colon. lines.ts decides which of these lines are
// turns.

/** The beginning of a line that may be a turn. */
export interface TurnHead {
  /** Time and day, as written before or after the speaker; empty if there are none. */
  readonly time: string;
  /** Name of the speaker without Markdown emphasis; never empty. */
  readonly speaker: string;
  /** Number of UTF-16 code units of the line before the spoken text, including leading white space. */
  readonly units: number;
}

/** The head of a turn must end within this many UTF-16 code units of its line. */
export const HEAD_UNITS_MAX = 160;

// Every repetition is bounded, and so is the text that the patterns are applied to: matching takes bounded time.
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

/**
 * The head of a turn at the beginning of a line; null if there is none. Reads only the first 160 UTF-16 code units of
 * the line.
 */
export function turnHeadOf(line: string): TurnHead | null {
  const match = HEAD.exec(line.slice(0, HEAD_UNITS_MAX));
  if (match === null) return null;
  const { bracketed, clock, behind, name, inBrackets, nick } = match.groups ?? {};
  const speaker = (name ?? inBrackets ?? nick ?? "").replace(/\s+/g, " ").trim();
  return speaker === "" ? null : { time: bracketed ?? clock ?? behind ?? "", speaker, units: match[0].length };
}
