// Decides whether a JSON object is a chat message, and extracts its speaker, text and time. Used for stored
// conversations (preparation/conversation/json.ts) and for JSON files (documents/json/json-turns.ts).

import type { JsonRecord } from "../kit/record.ts";

/** Keys of a message's speaker, text and time, the most specific first: `name` is more specific than `role`. */
const SPEAKER_KEYS = ["speaker", "name", "role"] as const;
const TEXT_KEYS = ["content", "text"] as const;
const TIME_KEYS = ["timestamp", "created_at", "createdAt", "datetime", "time", "date"] as const;

/** An object with a speaker and a text. */
export interface Message {
  readonly speakerKey: string;
  /** Trimmed; not empty. */
  readonly speaker: string;
  readonly textKey: string;
  /** Trimmed; empty if the field is null or blank. The texts of several parts are joined by line feeds. */
  readonly text: string;
  /** Whether the message has parts other than text, such as pictures. They are not in `text`. */
  readonly hasOtherParts: boolean;
}

/**
 * Reads an object as a message; null if it is none. A message has a speaker (`speaker`, `name` or `role`) and a text
 * (`content` or `text`: a string, null, or a list of parts with texts).
 */
export function messageOf(fields: JsonRecord): Message | null {
  const speakerKey = SPEAKER_KEYS.find((key) => visible(own(fields, key)) !== null);
  const texts = TEXT_KEYS.flatMap((key) => {
    const content = Object.hasOwn(fields, key) ? messageText(own(fields, key)) : null;
    return content === null ? [] : [{ textKey: key, ...content }];
  });
  const text = texts.find(({ text }) => text !== "") ?? texts[0];
  if (speakerKey === undefined || text === undefined) return null;
  return { speakerKey, speaker: visible(own(fields, speakerKey)) ?? "", ...text };
}

/**
 * The value of the first time field that `read` can parse, as `read` returns it, and the key of the field; null if
 * there is none.
 */
export function timeOf(
  fields: JsonRecord,
  read: (value: unknown) => string | null,
): { readonly timeKey: string; readonly time: string } | null {
  for (const timeKey of TIME_KEYS) {
    const time = read(own(fields, timeKey));
    if (time !== null) return { timeKey, time };
  }
  return null;
}

function own(fields: JsonRecord, key: string): unknown {
  return Object.hasOwn(fields, key) ? fields[key] : undefined;
}

function visible(value: unknown): string | null {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : null;
}

/** The text of a message from the value of its text field; null if the value cannot be such a text. */
function messageText(value: unknown): Pick<Message, "text" | "hasOtherParts"> | null {
  if (value === null) return { text: "", hasOtherParts: false };
  if (typeof value === "string") return { text: value.trim(), hasOtherParts: false };
  if (!Array.isArray(value)) return null;
  const texts: string[] = [];
  for (const part of value as readonly unknown[]) {
    const text: unknown = typeof part === "object" && part !== null && "text" in part ? part.text : part;
    if (typeof text === "string") texts.push(text);
    else if (typeof part !== "object" || part === null) return null;
  }
  return { text: texts.join("\n").trim(), hasOtherParts: texts.length < value.length };
}
