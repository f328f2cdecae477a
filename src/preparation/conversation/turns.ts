// Defines a parsed conversation. lines.ts and json.ts make it from lines and from JSON.

/** One turn of a conversation. */
export interface ParsedTurn {
  /** Index in `Conversation.sessions`. */
  readonly session: number;
  /** null for the text before the first speaker of a session. */
  readonly speaker: string | null;
  /** The day that is written in this turn itself, as `8 May 2023`; null if there is none. */
  readonly day: string | null;
  /** `[start, end)` in UTF-16 code units of the content: the turn with its label, or its JSON object. */
  readonly start: number;
  readonly end: number;
  /** The passage (`Ada: what she said`) if it differs from the text of the range, as for JSON; else null. */
  readonly passage: string | null;
  /** Number of UTF-16 code units of the passage before the spoken text. */
  readonly labelUnits: number;
}

/** A conversation: a text as a sequence of turns. */
export interface Conversation {
  /** The turns in order: at least one, without overlaps. */
  readonly turns: readonly ParsedTurn[];
  /** For each session, the day in the line that begins it, written as `8 May 2023`; null if there is none. */
  readonly sessions: readonly (string | null)[];
}

/**
 * Maximum number of turns. A text with more turns is not read turn by turn. The server makes the texts of all chunks of
 * a memory at once, which takes 0.4 s for this many (21 Nov 2026, two busy cores). The longest conversations of LoCoMo
 * have 700 turns.
 */
export const TURNS_MAX = 100_000;

/**
 * Maximum length of a speaker's name, in UTF-16 code units. Longer names are cut, because the name is put before every
 * part of a turn.
 */
export const SPEAKER_UNITS_MAX = 64;

/** The spoken text of a turn, without time and speaker before it. */
export function spokenText(content: string, turn: ParsedTurn): string {
  return (turn.passage ?? content.slice(turn.start, turn.end)).slice(turn.labelUnits);
}

/**
 * The spoken text at the beginning of a conversation, without speakers, one paragraph per turn.
 * @param unitsMax no turn is added once the sample has this many UTF-16 code units, and no turn contributes more.
 */
export function spokenSample(content: string, { turns }: Conversation, unitsMax: number): string {
  const paragraphs: string[] = [];
  let units = 0;
  for (const turn of turns) {
    if (units >= unitsMax) break;
    const text = spokenText(content, turn).slice(0, unitsMax).trim();
    paragraphs.push(text);
    units += text.length + 2;
  }
  return paragraphs.join("\n\n").trim();
}
