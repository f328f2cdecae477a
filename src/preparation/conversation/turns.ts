// What a conversation is once it was read, whatever form it came in.

/** One turn of a conversation. */
export interface ReadTurn {
  /** Its place in `Conversation.sessions`. */
  readonly session: number;
  /** null: what stands before the first speaker. */
  readonly speaker: string | null;
  /** The day that stands beside this very turn, as `8 May 2023`; null: none. */
  readonly day: string | null;
  /** `[start, end)` in UTF-16 units of the content: the turn with its label, or the object that it is. */
  readonly start: number;
  readonly end: number;
  /** The turn as it is shown, where that is not its range of the content: `Ada: what she said`. */
  readonly made: string | null;
  /** Units of what is shown in front of what is said. */
  readonly labelUnits: number;
}

/** A text as the turns that it consists of. */
export interface Conversation {
  /** At least one; in order, without overlaps. */
  readonly turns: readonly ReadTurn[];
  /** By session the day that its first line names, as `8 May 2023`; null: none. */
  readonly sessions: readonly (string | null)[];
}

/**
 * With more turns a text is not read turn by turn: the server makes the texts of all chunks of a memory in one go, and takes
 * .4 s for these (21 Nov 2026, two busy cores). The longest conversations of LoCoMo have 700 turns.
 */
export const TURNS_MAX = 100_000;

/** A speaker in UTF-16 units; longer ones are cut, since the name goes before every part of what was said. */
export const SPEAKER_UNITS_MAX = 64;

/** What was said in a turn, without its label. */
export function spokenOf(content: string, turn: ReadTurn): string {
  return (turn.made ?? content.slice(turn.start, turn.end)).slice(turn.labelUnits);
}

/**
 * What is said at a conversation's beginning, a turn a paragraph, without the speakers: what it is about.
 * @param unitsMax where the sample ends, in UTF-16 units; no turn of it is cut before.
 */
export function spokenSample(content: string, { turns }: Conversation, unitsMax: number): string {
  const said: string[] = [];
  let units = 0;
  for (const turn of turns) {
    if (units >= unitsMax) break;
    const text = spokenOf(content, turn).slice(0, unitsMax).trim();
    said.push(text);
    units += text.length + 2;
  }
  return said.join("\n\n").trim();
}
