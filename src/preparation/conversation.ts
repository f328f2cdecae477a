// Decides whether a text is a conversation, and reads its turns. The files in conversation/ parse lines and JSON, find
// days, and cut turns into chunks.

import { type DetectedType, isConversation } from "../domain/extraction.ts";
import { dayOf } from "./conversation/day.ts";
import { readJsonTurns } from "./conversation/json.ts";
import { readLineTurns } from "./conversation/lines.ts";
import type { Conversation } from "./conversation/turns.ts";
import { detectType } from "./type.ts";

/**
 * Maximum length of JSON that is read turn by turn, in UTF-16 code units. Longer JSON is prepared like any other text,
 * because the passages of its turns would not fit into a message between processes.
 */
const JSON_UNITS_MAX = 16 * 1024 * 1024;

/** The detected type of a text, and its turns if it is a conversation. */
export interface ClassifiedText {
  readonly detectedType: DetectedType;
  /** null if the text is not read turn by turn. That can happen even if the caller gave the type `conversation`. */
  readonly conversation: Conversation | null;
}

/** Classification of a file with source code, which is never read as a conversation. */
export const CODE: ClassifiedText = { detectedType: "code", conversation: null };

/**
 * Detects the type of a text. If the type is `conversation`, also reads its turns; here the type that the caller gave
 * has priority over the detected one. A text that was given as a conversation but has no recognisable turn is prepared
 * like any other text.
 * @param givenType the caller's type; null if none was given.
 */
export function classifyText(content: string, givenType: string | null): ClassifiedText {
  const jsonTurns = content.length <= JSON_UNITS_MAX ? readJsonTurns(content) : null;
  const detectedType = jsonTurns === null ? detectType(content.trimStart()) : "conversation";
  const isRead = isConversation(givenType ?? detectedType);
  return { detectedType, conversation: isRead ? (jsonTurns ?? readLineTurns(content)) : null };
}

/** Days of a memory, written as `8 May 2023`, for turns that have no day of their own. */
export interface MemoryDays {
  readonly givenDay: string | null;
  readonly createdDay: string | null;
}

/**
 * Finds the days of a memory.
 * @param date the date that the caller gave, in `occurred_at` or in the metadata: a text with a day in it, or Unix
 *   seconds or milliseconds.
 * @param createdAt Unix milliseconds; null if unknown.
 */
export function memoryDays(date: string | null, createdAt: number | null): MemoryDays {
  return { givenDay: dayOf(date), createdDay: dayOf(createdAt) };
}
