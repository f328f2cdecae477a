// Which turns the lines of a text are: `Speaker: text` in its many spellings, further lines of a turn, and lines that name
// the day of a session.

import { trimmed } from "../sentences.ts";
import { findDay, type NumericOrder, numericOrderOf } from "./day.ts";
import { HEAD_UNITS_MAX, type TurnHead, turnHeadOf } from "./turn-head.ts";
import { type Conversation, type ReadTurn, TURNS_MAX } from "./turns.ts";

/** A line in this many units or more names no session. */
const SESSION_UNITS_MAX = 120;
/** Lines before the first turn that a conversation may have, however short it is: a heading, a word on who takes part. */
const PREAMBLE_LINES_MAX = 3;
/** Words of a speaker's name who is named once. */
const NAME_WORDS_MAX = 4;

/** From this part of all heads on, turns have times, and what has none is no turn unless its speaker comes back. */
const TIMED_SHARE = 0.8;

/** What stands before a colon in running text, and is nobody's name. */
const NO_SPEAKERS: ReadonlySet<string> = new Set(
  (
    "note notes nb ps p.s edit update warning example examples e.g i.e tip hint todo re fwd fw cc bcc subject date time " +
    "http https ftp mailto file hinweis achtung beispiel datum remarque exemple nota ejemplo"
  ).split(" "),
);

/** A line that is not blank, without the white space around it. */
interface Line {
  readonly start: number;
  readonly end: number;
  /** Whether a blank line or nothing stands before it. */
  readonly isFresh: boolean;
  readonly head: TurnHead | null;
}

/**
 * The turns of a text of lines, or null when its lines are none: no line begins as a turn does, more than that stands
 * before the first, or there are more than 100,000. What is not blank and names no session lies in exactly one turn.
 * Linear in the text's length.
 */
export function readLineTurns(content: string): Conversation | null {
  // The lines are walked again for each question: kept, those of a large text would take many times its memory.
  const names = namesIn(linesOf(content));
  const order = numericOrderOf(timesOf(linesOf(content)));

  const turns: ReadTurn[] = [];
  const sessions: (string | null)[] = [null];
  let spokenTurns = 0;
  let preambleLines = 0;
  let turnsOfSession = 0;
  let open = null as ReadTurn | null;
  for (const line of linesOf(content)) {
    const session = sessionOf(content, line, order);
    if (session !== null) {
      if (open !== null) turns.push(open);
      open = null;
      if (turnsOfSession > 0) sessions.push(session.day);
      else sessions[sessions.length - 1] = session.day;
      turnsOfSession = 0;
      continue;
    }
    const head = line.head !== null && names.isSpeaker(line.head) ? line.head : null;
    if (head === null && open !== null) {
      open = { ...open, end: line.end };
    } else {
      if (open !== null) turns.push(open);
      if (turns.length >= TURNS_MAX) return null;
      open = openTurn(line, head, sessions.length - 1, order);
      turnsOfSession += 1;
    }
    if (head !== null) spokenTurns += 1;
    else if (spokenTurns === 0) preambleLines += 1;
  }
  if (open !== null) turns.push(open);
  return spokenTurns === 0 || preambleLines > Math.max(PREAMBLE_LINES_MAX, spokenTurns) ? null : { turns, sessions };
}

function openTurn(line: Line, head: TurnHead | null, session: number, order: NumericOrder | null): ReadTurn {
  return {
    session,
    speaker: head?.speaker ?? null,
    day: head === null || head.time === "" ? null : (findDay(head.time, order)?.day ?? null),
    start: line.start,
    end: line.end,
    made: null,
    labelUnits: Math.min(head?.units ?? 0, line.end - line.start),
  };
}

function* linesOf(content: string): Generator<Line> {
  let isFresh = true;
  for (let at = 0; at < content.length; ) {
    const feed = content.indexOf("\n", at);
    const lineEnd = feed === -1 ? content.length : feed;
    const { start, end } = trimmed(content, at, lineEnd);
    at = lineEnd + 1;
    if (start < end) {
      const head = turnHeadOf(content.slice(start, Math.min(end, start + HEAD_UNITS_MAX)));
      yield { start, end, isFresh, head };
    }
    isFresh = start === end;
  }
}

function* timesOf(lines: Iterable<Line>): Generator<string> {
  for (const { head } of lines) if (head !== null && head.time !== "") yield head.time;
}

interface Names {
  readonly isSpeaker: (head: TurnHead) => boolean;
}

/**
 * Tells speakers from other words before a colon. Who comes back is one, and who speaks at a time that is given; who is
 * named once must look like a name, and as the others do: `She said: …` goes on with the turn before.
 */
function namesIn(lines: Iterable<Line>): Names {
  const counts = new Map<string, number>();
  let first = null as TurnHead | null;
  let timed = 0;
  let all = 0;
  for (const { head } of lines) {
    if (head === null) continue;
    first ??= head;
    all += 1;
    if (head.time !== "") timed += 1;
    counts.set(head.speaker, (counts.get(head.speaker) ?? 0) + 1);
  }
  const areTimed = timed >= all * TIMED_SHARE;
  const isFirstLower = first !== null && /^\p{Ll}/u.test(first.speaker);
  return {
    isSpeaker: (head) => {
      if (head.time !== "") return true;
      if (NO_SPEAKERS.has(head.speaker.toLowerCase())) return false;
      if ((counts.get(head.speaker) ?? 0) > 1 || head.speaker === first?.speaker) return true;
      if (areTimed || (!isFirstLower && /^\p{Ll}/u.test(head.speaker))) return false;
      const words = head.speaker.split(" ");
      return words.length === 1 || (words.length <= NAME_WORDS_MAX && words.every((word) => !/^\p{Ll}/u.test(word)));
    },
  };
}

const SESSION_WORDS =
  /\b(?:session|conversation|chat|date|datum|fecha|day|time|started|on|at|the|um|le|am|utc|gmt|mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b|\bsession\s{0,3}#?\d{1,6}\b/giu;
const TIME = /[T\s]?\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:\s?[ap]\.?m\b\.?)?(?:Z|[+-]\d{2}:?\d{2})?/giu;
const NUMBERED_SESSION = /^[\s#*=_–—([-]{0,12}session\s{0,3}#?\d{1,6}\b/iu;
const MARKED = /^(?:[[(#*=_–—-]|(?:session|conversation|chat|date|datum|fecha)\b)/iu;

/**
 * The session that a line begins, with its day: `[8 May 2023]`, `Date: 2023-05-08`, `Session 1 (1:56 pm on 8 May, 2023)`.
 * Nothing else may stand on it. A bare day counts only where a new paragraph begins: else it is what somebody said.
 */
function sessionOf(content: string, line: Line, order: NumericOrder | null): { readonly day: string | null } | null {
  if (line.end - line.start >= SESSION_UNITS_MAX || !hasDigit(content, line)) return null;
  const text = content.slice(line.start, line.end);
  const isNumbered = NUMBERED_SESSION.test(text);
  const found = findDay(text, order);
  if (found === null && !isNumbered) return null;
  if (!line.isFresh && !MARKED.test(text)) return null;
  const rest = found === null ? text : `${text.slice(0, found.start)} ${text.slice(found.end)}`;
  const others = rest.replace(NUMBERED_SESSION, " ").replace(TIME, " ").replace(SESSION_WORDS, " ");
  return /[\p{L}\p{N}]/u.test(others) ? null : { day: found?.day ?? null };
}

function hasDigit(content: string, { start, end }: Line): boolean {
  for (let at = start; at < end; at++) {
    const unit = content.charCodeAt(at);
    if (unit >= 0x30 && unit <= 0x39) return true;
  }
  return false;
}
