// From the turns of a conversation to chunks: a turn each, long ones in parts, all with speaker and day.

import { type Turn, turnSentence } from "../../domain/chunk.ts";
import {
  type ChunkRange,
  type CountTokens,
  type Cut,
  cutChunks,
  SPECIAL_TOKENS,
  UNITS_PER_TOKEN_MAX,
} from "../chunk.ts";
import { type Conversation, type ReadTurn, SPEAKER_UNITS_MAX, spokenOf } from "./turns.ts";

/** How to cut. */
export interface ConversationCutOptions {
  readonly countTokens: CountTokens;
  /** Budget of a chunk in tokens, day, speaker and specials included. */
  readonly tokensMax: number;
  /** The day of sessions whose first line names none, as `8 May 2023`; null: not known. */
  readonly givenDay: string | null;
  /** The day where nothing else tells one; null: not known. */
  readonly lastDay: string | null;
}

/** A turn stands under nothing: neither title nor headings go before it. */
const NO_PLACE = { headings: [], prefix: "" };
/** Tokens of what is said that a part holds at least, however long the speaker's name is. */
const PART_TOKENS_MIN = 8;

/**
 * One chunk per turn; a turn beyond the budget in parts, cut at its blocks and sentences, each with the turn's speaker and
 * day. Of a turn that is an object in the content all parts have that object's range; else the ranges do not overlap.
 * Linear in the content's length.
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
  read: ReadTurn,
  date: string | null,
  { countTokens, tokensMax }: ConversationCutOptions,
): Generator<ChunkRange> {
  const { session, start, end, made, labelUnits } = read;
  const speaker = read.speaker?.slice(0, SPEAKER_UNITS_MAX).toWellFormed() ?? null;
  const spoken = spokenOf(content, read);
  const rangeOf = (from: number, to: number, shown: string, shownLabelUnits: number): ChunkRange => {
    const turn: Turn = { session, speaker, date, labelUnits: shownLabelUnits };
    const tokens = countTokens(turnSentence(turn, shown)) + SPECIAL_TOKENS;
    return {
      start: from,
      end: to,
      tokens,
      hasTitle: false,
      place: NO_PLACE,
      turn,
      ...(made !== null && { made: shown }),
    };
  };

  if (spoken.length <= tokensMax * UNITS_PER_TOKEN_MAX) {
    const whole = rangeOf(start, end, made ?? content.slice(start, end), labelUnits);
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
    if (made !== null) {
      yield rangeOf(start, end, made.slice(0, labelUnits) + spoken.slice(part.start, part.end), labelUnits);
    } else {
      const from = isFirst ? start : start + labelUnits + part.start;
      const to = start + labelUnits + part.end;
      yield rangeOf(from, to, content.slice(from, to), isFirst ? labelUnits + part.start : 0);
    }
    isFirst = false;
  }
}

/**
 * By turn the day it belongs to: that of its session's first line, else the given one, else that of the turn or of the
 * last one before it with a day (of the first one behind it where there is none), else the last resort.
 */
function daysOf(
  { turns, sessions }: Conversation,
  { givenDay, lastDay }: ConversationCutOptions,
): readonly (string | null)[] {
  const known = sessions.map((day) => day ?? givenDay);
  for (const { session, day } of turns) known[session] ??= day;
  const isOfTurns = sessions.map((day) => day === null && givenDay === null);
  return turns.map(({ session, day }) => {
    if (isOfTurns[session] === true && day !== null) known[session] = day;
    return known[session] ?? lastDay;
  });
}
