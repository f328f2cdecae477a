// Reads the turns of a JSON array of messages, with the range of each message in the text.

import { messageOf, timeOf } from "../../domain/json-message.ts";
import { type JsonRecord, parsedJson } from "../../kit/record.ts";
import { dayOf } from "./day.ts";
import { type Conversation, type ParsedTurn, SPEAKER_UNITS_MAX, TURNS_MAX } from "./turns.ts";

/** Maximum nesting of a list of turns. The parts of a message need three levels. */
const DEPTH_MAX = 64;

/**
 * The turns of a JSON array of objects that all have a speaker (`speaker`, `name` or `role`) and a text (`content` or
 * `text`: a string, or a list of parts with texts); null for any other content. Turns without text (null, blank) are
 * skipped, and at least one turn must have text. Takes linear time, without recursion.
 */
export function readJsonTurns(content: string): Conversation | null {
  if (!/^\s{0,64}\[\s{0,64}\{/.test(content.slice(0, 256))) return null;
  const bounds = objectBounds(content);
  if (bounds === null) return null;
  const turns: ParsedTurn[] = [];
  for (let at = 0; at < bounds.length; at += 2) {
    const [start = 0, end = 0] = [bounds[at], bounds[at + 1]];
    const message = parseMessage(content.slice(start, end));
    if (message === null) return null;
    const { speaker, text, day } = message;
    if (text === "") continue;
    const label = `${speaker}: `;
    turns.push({ session: 0, speaker, day, start, end, passage: label + text, labelUnits: label.length });
  }
  return turns.length === 0 ? null : { turns, sessions: [null] };
}

interface ParsedMessage {
  readonly speaker: string;
  readonly text: string;
  readonly day: string | null;
}

function parseMessage(json: string): ParsedMessage | null {
  // if an object is not valid JSON, the text is prepared like any other text
  const value = parsedJson(json);
  if (typeof value !== "object" || value === null) return null;
  const fields = value as JsonRecord;
  const message = messageOf(fields);
  if (message === null) return null;
  const day = timeOf(fields, dayOf)?.time ?? null;
  return { speaker: shortSpeaker(message.speaker), text: storable(message.text).trim(), day };
}

function shortSpeaker(name: string): string {
  const line = storable(name.slice(0, 4 * SPEAKER_UNITS_MAX))
    .replace(/\s+/g, " ")
    .trim();
  return line.length <= SPEAKER_UNITS_MAX ? line : `${line.slice(0, SPEAKER_UNITS_MAX - 1).toWellFormed()}…`;
}

/** JSON can escape characters that no store accepts. NUL and lone surrogates become U+FFFD, as elsewhere. */
function storable(text: string): string {
  return text.replaceAll("\0", "\ufffd").toWellFormed();
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY, COMMA] = [0x7b, 0x7d, 0x5b, 0x5d, 0x2c];

/**
 * Start and end of each object of an array, two numbers per object; null if the text is not an array of only objects,
 * is nested deeper than 64 levels or has more than 100,000 objects. The content of the objects is not checked.
 */
function objectBounds(content: string): readonly number[] | null {
  const bounds: number[] = [];
  let depth = 0;
  let isClosed = false;
  // An object may begin at the start of the array and after a comma.
  let mayOpen = true;
  for (let at = 0; at < content.length; at++) {
    const unit = content.charCodeAt(at);
    if (depth >= 2) {
      if (unit === QUOTE) {
        at = stringEnd(content, at);
        if (at === -1) return null;
      } else if (unit === OPEN_OBJECT || unit === OPEN_ARRAY) {
        if (++depth > DEPTH_MAX) return null;
      } else if (unit === CLOSE_OBJECT || unit === CLOSE_ARRAY) {
        if (--depth === 1) bounds.push(at + 1);
      }
      continue;
    }
    if (unit === 0x20 || (unit >= 0x09 && unit <= 0x0d) || unit === 0xfeff) continue;
    if (isClosed) return null;
    if (depth === 0 && unit === OPEN_ARRAY) depth = 1;
    else if (depth === 1 && unit === OPEN_OBJECT && mayOpen) {
      if (bounds.length >= 2 * TURNS_MAX) return null;
      bounds.push(at);
      depth = 2;
      mayOpen = false;
    } else if (depth === 1 && unit === COMMA && !mayOpen) mayOpen = true;
    else if (depth === 1 && unit === CLOSE_ARRAY && !mayOpen) {
      depth = 0;
      isClosed = true;
    } else return null;
  }
  return isClosed ? bounds : null;
}

/** Position of the quotation mark that ends the string beginning at `start`; -1 if there is none. */
function stringEnd(content: string, start: number): number {
  for (let at = start + 1; at < content.length; at++) {
    const unit = content.charCodeAt(at);
    if (unit === BACKSLASH) at++;
    else if (unit === QUOTE) return at;
  }
  return -1;
}
