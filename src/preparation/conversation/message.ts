// Which fields of a JSON object make it a message, and what they say. What is made of messages is json.ts's business for conversations
// and json-turns.ts's for files.

/** The names that a message's speaker, words and time go by, the most telling first: `name` says more than `role`. */
const SPEAKER_KEYS = ["speaker", "name", "role"] as const;
const TEXT_KEYS = ["content", "text"] as const;
const TIME_KEYS = ["timestamp", "created_at", "createdAt", "datetime", "time", "date"] as const;

/** A JSON object. */
export type Fields = Readonly<Record<string, unknown>>;

/** An object that has a speaker and words. */
export interface Message {
  readonly speakerKey: string;
  /** With a visible character, white space at both ends cut. */
  readonly speaker: string;
  readonly textKey: string;
  /** White space at both ends cut; empty where it has none (null, blank). The texts of several parts are lines. */
  readonly text: string;
  /** Whether it has parts that are no texts, such as pictures: they are not in `text`. */
  readonly hasOtherParts: boolean;
}

/**
 * An object as a message: with a speaker (`speaker`, `name` or `role`) and words (`content` or `text`: a string, null, or a list of
 * parts with texts); null: it is none.
 */
export function messageOf(fields: Fields): Message | null {
  const speakerKey = SPEAKER_KEYS.find((key) => visible(own(fields, key)) !== null);
  const texts = TEXT_KEYS.flatMap((key) => {
    const words = Object.hasOwn(fields, key) ? wordsOf(own(fields, key)) : null;
    return words === null ? [] : [{ textKey: key, ...words }];
  });
  const words = texts.find(({ text }) => text !== "") ?? texts[0];
  if (speakerKey === undefined || words === undefined) return null;
  return { speakerKey, speaker: visible(own(fields, speakerKey)) ?? "", ...words };
}

/** The first time of an object that `read` understands, and its field; null: there is none. */
export function timeOf(
  fields: Fields,
  read: (value: unknown) => string | null,
): { readonly timeKey: string; readonly time: string } | null {
  for (const timeKey of TIME_KEYS) {
    const time = read(own(fields, timeKey));
    if (time !== null) return { timeKey, time };
  }
  return null;
}

function own(fields: Fields, key: string): unknown {
  return Object.hasOwn(fields, key) ? fields[key] : undefined;
}

function visible(value: unknown): string | null {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : null;
}

/** null: the field can hold no words. */
function wordsOf(value: unknown): Pick<Message, "text" | "hasOtherParts"> | null {
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
