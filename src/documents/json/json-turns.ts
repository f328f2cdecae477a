// Whether an object of a JSON list is a turn of a conversation, and how that is written: `[time] Speaker: text`, as conversations in
// plain text are (conversation.ts reads both). Which fields make a message is domain/json-message.ts's business.

import { type Fields, messageOf, timeOf } from "../../domain/json-message.ts";

/** What a turn may have beside these without anything being lost. */
const IDLE_KEYS: ReadonlySet<string> = new Set(["id", "uuid", "index", "type"]);
/** Units of a speaker at most: longer ones are texts. */
const SPEAKER_UNITS_MAX = 80;
/** From here on a number of a time counts milliseconds since 1970, not seconds (the year 5138). */
const MILLISECONDS_FROM = 1e11;
/** Seconds since 1970 from which on a number is a time of day and no other number: 1980. */
const SECONDS_FROM = 315_532_800;

/** An object as a turn; null: it is none. @param json one valid object, not deeply nested */
export function turnLine(json: string): string | null {
  const fields = JSON.parse(json) as Fields;
  const message = messageOf(fields);
  if (message === null || message.text === "" || message.hasOtherParts) return null;
  const { speakerKey, speaker, textKey, text } = message;
  if (speaker.length > SPEAKER_UNITS_MAX || /[\n:]/.test(speaker)) return null;
  const at = timeOf(fields, timeText);
  const known = new Set([speakerKey, textKey, ...(at === null ? [] : [at.timeKey])]);
  const others = Object.entries(fields).filter(
    ([key, value]) => !known.has(key) && !IDLE_KEYS.has(key) && isSaid(value),
  );
  // a number that is not what stands there once it is read
  if (others.some(([, value]) => typeof value === "number" && !json.includes(String(value)))) return null;
  const time = at === null ? "" : `[${at.time}] `;
  const more = others.map(([key, value]) => ` (${key}: ${typeof value === "string" ? value : JSON.stringify(value)})`);
  return oneLine(`${time}${speaker}: ${text}${more.join("")}`);
}

function isSaid(value: unknown): boolean {
  return value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
}

function timeText(value: unknown): string | null {
  if (typeof value === "string" && value.trim() !== "" && value.length <= 40 && !/[\n\]]/.test(value))
    return value.trim();
  if (typeof value !== "number" || value < SECONDS_FROM || value > 1e14) return null;
  return new Date(value < MILLISECONDS_FROM ? value * 1000 : value).toISOString();
}

// A line of its own, since a line that begins with `Word:` would be another turn.
function oneLine(text: string): string {
  return text.replaceAll("\0", "").toWellFormed().replace(/\s+/g, " ").trim();
}
