// Cuts a conversation into chunk ranges: one per turn, or several for a long turn. Each has the speaker and day of its
// turn.

import { type Turn, turnSentence } from "../../domain/chunk.ts";
import {
  type ChunkRange,
  type CountTokens,
  type Cut,
  cutChunks,
  SPECIAL_TOKENS,
  UNITS_PER_TOKEN_MAX,
} from "../chunk.ts";
import { type Conversation, type ParsedTurn, SPEAKER_UNITS_MAX, spokenText } from "./turns.ts";

/** Options of `cutConversation`. */
export interface ConversationCutOptions {
  readonly countTokens: CountTokens;
  /** Token budget of a chunk, including day, speaker and special tokens. */
  readonly tokensMax: number;
  /** Day of the sessions whose first line has no day, written as `8 May 2023`; null if unknown. */
  readonly givenDay: string | null;
  /** Day of the turns whose day cannot be found in any other way; null if unknown. */
  readonly createdDay: string | null;
}

/** A turn belongs to no section: neither title nor headings are put before it. */
const NO_SECTION = { headings: [], prefix: "" };
/** Minimum number of tokens of spoken text that fit into a part, even if the speaker's name is very long. */
const PART_TOKENS_MIN = 8;

/**
 * One chunk per turn. A turn larger than the budget is cut at its blocks and sentences into parts, each with the
 * speaker and day of the turn. All parts of a JSON turn have the range of its object; other ranges do not overlap.
 * Takes time linear in the length of the content.
 */
export function cutConversation(content: string, conversation: Conversation, options: ConversationCutOptions): Cut {
  const days = daysOf(conversation, options);
  const ranges: ChunkRange[] = [];
  for (const [position, turn] of conversation.turns.entries()) {
    for (const range of turnRanges(content, turn, days[position] ?? null, options)) ranges.push(range);
  }
  return { titlePrefix: "", ranges };
}

function* turnRanges(
  content: string,
  parsed: ParsedTurn,
  date: string | null,
  { countTokens, tokensMax }: ConversationCutOptions,
): Generator<ChunkRange> {
  const { session, start, end, passage, labelUnits } = parsed;
  const speaker = parsed.speaker?.slice(0, SPEAKER_UNITS_MAX).toWellFormed() ?? null;
  const spoken = spokenText(content, parsed);
  const rangeOf = (from: number, to: number, partPassage: string, partLabelUnits: number): ChunkRange => {
    const turn: Turn = { session, speaker, date, labelUnits: partLabelUnits };
    const tokens = countTokens(turnSentence(turn, partPassage)) + SPECIAL_TOKENS;
    return {
      start: from,
      end: to,
      tokens,
      hasTitle: false,
      section: NO_SECTION,
      turn,
      ...(passage !== null && { passage: partPassage }),
    };
  };

  if (spoken.length <= tokensMax * UNITS_PER_TOKEN_MAX) {
    const whole = rangeOf(start, end, passage ?? content.slice(start, end), labelUnits);
    if (whole.tokens <= tokensMax) {
      yield whole;
      return;
    }
  }
  const labelTokens = countTokens(turnSentence({ session, speaker, date, labelUnits: 0 }, ""));
  const parts = cutChunks(spoken, {
    form: "markdown",
    title: { text: "", isGiven: false },
    countTokens,
    tokensMax: Math.max(SPECIAL_TOKENS + PART_TOKENS_MIN, tokensMax - labelTokens),
  });
  let isFirst = true;
  for (const part of parts.ranges) {
    if (passage !== null) {
      yield rangeOf(start, end, passage.slice(0, labelUnits) + spoken.slice(part.start, part.end), labelUnits);
    } else {
      const from = isFirst ? start : start + labelUnits + part.start;
      const to = start + labelUnits + part.end;
      yield rangeOf(from, to, content.slice(from, to), isFirst ? labelUnits + part.start : 0);
    }
    isFirst = false;
  }
}

/**
 * The day of each turn, from the first of these sources that has one: the first line of its session; the given day; the
 * turn itself; the last earlier turn of the session with a day, or else the first later one; the day of creation.
 */
function daysOf(
  { turns, sessions }: Conversation,
  { givenDay, createdDay }: ConversationCutOptions,
): readonly (string | null)[] {
  const known = sessions.map((day) => day ?? givenDay);
  for (const { session, day } of turns) known[session] ??= day;
  const isDatedByTurns = sessions.map((day) => day === null && givenDay === null);
  return turns.map(({ session, day }) => {
    if (isDatedByTurns[session] === true && day !== null) known[session] = day;
    return known[session] ?? createdDay;
  });
}
