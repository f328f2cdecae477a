// Whether an object of a JSON list is a turn of a conversation, and how that is written: `[time] Speaker: text`, as conversations in
// plain text are (conversation.ts reads both).

const SPEAKER_KEYS = ["speaker", "role", "name"] as const;
const TEXT_KEYS = ["content", "text"] as const;
const TIME_KEYS = ["timestamp", "time", "date", "created_at", "createdAt", "datetime"] as const;
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
  const object = JSON.parse(json) as Record<string, unknown>;
  const [speakerKey, speaker] = firstString(object, SPEAKER_KEYS);
  const [textKey, text] = firstText(object);
  if (speakerKey === null || textKey === null || speaker.length > SPEAKER_UNITS_MAX || /[\n:]/.test(speaker))
    return null;
  const timeKey = TIME_KEYS.find((key) => timeOf(object[key]) !== null);
  const known = new Set<string>([speakerKey, textKey, ...(timeKey === undefined ? [] : [timeKey])]);
  const others = Object.entries(object).filter(
    ([key, value]) => !known.has(key) && !IDLE_KEYS.has(key) && isSaid(value),
  );
  // a number that is not what stands there once it is read
  if (others.some(([, value]) => typeof value === "number" && !json.includes(String(value)))) return null;
  const time = timeKey === undefined ? "" : `[${timeOf(object[timeKey])}] `;
  const more = others.map(([key, value]) => ` (${key}: ${typeof value === "string" ? value : JSON.stringify(value)})`);
  return oneLine(`${time}${speaker}: ${text}${more.join("")}`);
}

function isSaid(value: unknown): boolean {
  return value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
}

function firstString(
  object: Record<string, unknown>,
  keys: readonly string[],
): readonly [string, string] | readonly [null, ""] {
  for (const key of keys) {
    const value = Object.hasOwn(object, key) ? object[key] : undefined;
    if (typeof value === "string" && value.trim() !== "") return [key, value.trim()];
  }
  return [null, ""];
}

/** A text, or the texts of its parts (`[{ type: "text", text: … }]`). */
function firstText(object: Record<string, unknown>): readonly [string, string] | readonly [null, ""] {
  const [key, text] = firstString(object, TEXT_KEYS);
  if (key !== null) return [key, text];
  const { content } = object;
  if (!Array.isArray(content) || content.length === 0) return [null, ""];
  const texts = content.map((part: unknown) => {
    if (typeof part === "string") return part;
    const inner = part !== null && typeof part === "object" && "text" in part ? part.text : null;
    return typeof inner === "string" ? inner : null;
  });
  return texts.includes(null) ? [null, ""] : ["content", texts.join(" ").trim()];
}

function timeOf(value: unknown): string | null {
  if (typeof value === "string" && value.trim() !== "" && value.length <= 40 && !/[\n\]]/.test(value))
    return value.trim();
  if (typeof value !== "number" || value < SECONDS_FROM || value > 1e14) return null;
  return new Date(value < MILLISECONDS_FROM ? value * 1000 : value).toISOString();
}

// A line of its own, since a line that begins with `Word:` would be another turn.
function oneLine(text: string): string {
  return text.replaceAll("\0", "").toWellFormed().replace(/\s+/g, " ").trim();
}
