// Reads the turns of a conversation from lines: `Speaker: text` in its many forms, continuation lines of a turn,
// and lines with the day of a session.

import { trimmed } from "../sentences.ts";
import { findDay, type NumericOrder, numericOrderOf } from "./day.ts";
import { HEAD_UNITS_MAX, type TurnHead, turnHeadOf } from "./turn-head.ts";
import { type Conversation, type ParsedTurn, TURNS_MAX } from "./turns.ts";

/** A line with this many UTF-16 code units or more does not begin a session. */
const SESSION_UNITS_MAX = 120;
/**
 * Number of lines that even a short conversation may have before the first turn: a heading, a note on the participants.
 */
const PREAMBLE_LINES_MAX = 3;
/** Maximum number of words in the name of a speaker who has only one turn. */
const NAME_WORDS_MAX = 4;

/**
 * If at least this share of the turn heads has a time, a head without a time begins a turn only if its speaker repeats
 * or is the first one.
 */
const TIMED_SHARE = 0.8;

/** Words that often precede a colon in running text, and so are not speakers. */
const NOT_SPEAKERS: ReadonlySet<string> = new Set(
  (
    "note notes nb ps p.s edit update warning example examples e.g i.e tip hint todo re fwd fw cc bcc subject date time " +
    "http https ftp mailto file hinweis achtung beispiel datum remarque exemple nota ejemplo"
  ).split(" "),
);

/** A line that is not blank, without the white space around it. */
interface Line {
  readonly start: number;
  readonly end: number;
  /** Whether the line begins a paragraph: it follows a blank line or is the first line. */
  readonly beginsParagraph: boolean;
  readonly head: TurnHead | null;
}

/**
 * The turns of a conversation that is written in lines. null if no line begins like a turn, if too many lines precede
 * the first turn, or if there are more than 100,000 turns. Every line that is neither blank nor the start of a session
 * lies in exactly one turn. Takes linear time.
 */
export function readLineTurns(content: string): Conversation | null {
  // The lines are generated again for each pass: an array of them would take many times the memory of a large text.
  const isSpeaker = speakerTest(linesOf(content));
  const order = numericOrderOf(timesOf(linesOf(content)));

  const turns: ParsedTurn[] = [];
  const sessions: (string | null)[] = [null];
  let spokenTurns = 0;
  let preambleLines = 0;
  let turnsOfSession = 0;
  let open = null as ParsedTurn | null;
  for (const line of linesOf(content)) {
    const session = sessionStart(content, line, order);
    if (session !== null) {
      if (open !== null) turns.push(open);
      open = null;
      if (turnsOfSession > 0) sessions.push(session.day);
      else sessions[sessions.length - 1] = session.day;
      turnsOfSession = 0;
      continue;
    }
    const head = line.head !== null && isSpeaker(line.head) ? line.head : null;
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

function openTurn(line: Line, head: TurnHead | null, session: number, order: NumericOrder | null): ParsedTurn {
  return {
    session,
    speaker: head?.speaker ?? null,
    day: head === null || head.time === "" ? null : (findDay(head.time, order)?.day ?? null),
    start: line.start,
    end: line.end,
    passage: null,
    labelUnits: Math.min(head?.units ?? 0, line.end - line.start),
  };
}

function* linesOf(content: string): Generator<Line> {
  let beginsParagraph = true;
  for (let at = 0; at < content.length; ) {
    const feed = content.indexOf("\n", at);
    const lineEnd = feed === -1 ? content.length : feed;
    const { start, end } = trimmed(content, at, lineEnd);
    at = lineEnd + 1;
    if (start < end) {
      const head = turnHeadOf(content.slice(start, Math.min(end, start + HEAD_UNITS_MAX)));
      yield { start, end, beginsParagraph, head };
    }
    beginsParagraph = start === end;
  }
}

function* timesOf(lines: Iterable<Line>): Generator<string> {
  for (const { head } of lines) if (head !== null && head.time !== "") yield head.time;
}

/**
 * Returns a function that decides whether the words before a colon are a speaker. Words with a time next to them are
 * one. Others are one if they repeat or come first, unless they are among `NOT_SPEAKERS`. Words that occur once must
 * look like a name and be written like the first speaker: `She said: …` continues the previous turn.
 */
function speakerTest(lines: Iterable<Line>): (head: TurnHead) => boolean {
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
  return (head) => {
    if (head.time !== "") return true;
    if (NOT_SPEAKERS.has(head.speaker.toLowerCase())) return false;
    if ((counts.get(head.speaker) ?? 0) > 1 || head.speaker === first?.speaker) return true;
    if (areTimed || (!isFirstLower && /^\p{Ll}/u.test(head.speaker))) return false;
    const words = head.speaker.split(" ");
    return words.length === 1 || (words.length <= NAME_WORDS_MAX && words.every((word) => !/^\p{Ll}/u.test(word)));
  };
}

const SESSION_WORDS =
  /\b(?:session|conversation|chat|date|datum|fecha|day|time|started|on|at|the|um|le|am|utc|gmt|mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\b|\bsession\s{0,3}#?\d{1,6}\b/giu;
const TIME = /[T\s]?\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:\s?[ap]\.?m\b\.?)?(?:Z|[+-]\d{2}:?\d{2})?/giu;
const NUMBERED_SESSION = /^[\s#*=_–—([-]{0,12}session\s{0,3}#?\d{1,6}\b/iu;
const SESSION_MARK = /^(?:[[(#*=_–—-]|(?:session|conversation|chat|date|datum|fecha)\b)/iu;

/**
 * The session that a line begins, with its day: `[8 May 2023]`, `Date: 2023-05-08`, `Session 1 (1:56 pm on 8 May,
 * 2023)`; null if the line does not begin a session. The line may also contain a time and words such as "started on",
 * but nothing else. A day without brackets or a label counts only at the beginning of a paragraph: elsewhere it is part
 * of what a speaker says.
 */
function sessionStart(content: string, line: Line, order: NumericOrder | null): { readonly day: string | null } | null {
  if (line.end - line.start >= SESSION_UNITS_MAX || !hasDigit(content, line)) return null;
  const text = content.slice(line.start, line.end);
  const isNumbered = NUMBERED_SESSION.test(text);
  const found = findDay(text, order);
  if (found === null && !isNumbered) return null;
  if (!line.beginsParagraph && !SESSION_MARK.test(text)) return null;
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
