// Recognises turns of a conversation in a JSON list and writes them as `[time] Speaker: text`, the form of
// conversations in plain text, which preparation/conversation reads. domain/json-message.ts knows the fields of a
// message.

import { messageOf, timeOf } from "../../domain/json-message.ts";
import type { JsonRecord } from "../../kit/record.ts";
import { unixMilliseconds } from "../../kit/unix-time.ts";

/** Keys of a turn whose values are not written to its line. */
const OMITTED_KEYS: ReadonlySet<string> = new Set(["id", "uuid", "index", "type"]);
/** Maximum length of a speaker's name, in UTF-16 code units. A longer value is a text, not a name. */
const SPEAKER_UNITS_MAX = 80;

/** Minimum number that is read as a time, in seconds since 1970: the year 1980. */
const SECONDS_FROM = 315_532_800;

/** The line of a turn; null if the object is not a turn. @param json one valid object, not deeply nested */
export function turnLine(json: string): string | null {
  const fields = JSON.parse(json) as JsonRecord;
  const message = messageOf(fields);
  if (message === null || message.text === "" || message.hasOtherParts) return null;
  const { speakerKey, speaker, textKey, text } = message;
  if (speaker.length > SPEAKER_UNITS_MAX || /[\n:]/.test(speaker)) return null;
  const at = timeOf(fields, timeText);
  const known = new Set([speakerKey, textKey, ...(at === null ? [] : [at.timeKey])]);
  const others = Object.entries(fields).filter(
    ([key, value]) => !known.has(key) && !OMITTED_KEYS.has(key) && hasValue(value),
  );
  // if JSON.parse changed a number, for example a very long one, the object is not written as a turn
  if (others.some(([, value]) => typeof value === "number" && !json.includes(String(value)))) return null;
  const time = at === null ? "" : `[${at.time}] `;
  const more = others.map(([key, value]) => ` (${key}: ${typeof value === "string" ? value : JSON.stringify(value)})`);
  return oneLine(`${time}${speaker}: ${text}${more.join("")}`);
}

function hasValue(value: unknown): boolean {
  return value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
}

function timeText(value: unknown): string | null {
  if (typeof value === "string" && value.trim() !== "" && value.length <= 40 && !/[\n\]]/.test(value))
    return value.trim();
  if (typeof value !== "number" || value < SECONDS_FROM || value > 1e14) return null;
  return new Date(unixMilliseconds(value)).toISOString();
}

// The text is put on one line, because a second line that begins with `Word:` would be read as another turn.
function oneLine(text: string): string {
  return text.replaceAll("\0", "").toWellFormed().replace(/\s+/g, " ").trim();
}
