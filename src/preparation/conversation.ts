// Decides whether a text is a conversation, and reads its turns. The files in conversation/ parse lines and JSON, find
// days, and cut turns into chunks.

import type { DetectedType } from "../domain/extraction.ts";
import { dayOf } from "./conversation/day.ts";
import { readJsonTurns } from "./conversation/json.ts";
import { readLineTurns } from "./conversation/lines.ts";
import type { Conversation } from "./conversation/turns.ts";
import { detectType } from "./type.ts";

/** The type of texts that are read turn by turn, whether the caller gave it or it was detected. */
const CONVERSATION = "conversation" satisfies DetectedType;

/**
 * Longer JSON is prepared like any other text: the passages of its turns would not fit into a message between
 * processes.
 */
const JSON_UNITS_MAX = 16 * 1024 * 1024;

/** The detected type of a text, and its turns if it is a conversation. */
export interface ClassifiedText {
  readonly detectedType: DetectedType;
  /** null if the text is not read turn by turn, whatever type the caller gave. */
  readonly conversation: Conversation | null;
}

/**
 * Detects the type of a text, and reads its turns if it is a conversation by the given type or, without one, by the
 * detected type. A text that was given as a conversation but has no recognisable turn is prepared like any other text.
 * @param givenType the caller's type; null if none was given.
 */
export function classifyText(content: string, givenType: string | null): ClassifiedText {
  const jsonTurns = content.length <= JSON_UNITS_MAX ? readJsonTurns(content) : null;
  const detectedType = jsonTurns === null ? detectType(content.trimStart()) : CONVERSATION;
  const isConversation = (givenType ?? detectedType).trim().toLowerCase() === CONVERSATION;
  return { detectedType, conversation: isConversation ? (jsonTurns ?? readLineTurns(content)) : null };
}

/** The days of a memory, as `8 May 2023`, for turns that have no day of their own. */
export interface MemoryDays {
  readonly givenDay: string | null;
  readonly createdDay: string | null;
}

/**
 * The days of a memory.
 * @param date the date in the memory's metadata: a text with a day in it, or Unix seconds or milliseconds.
 * @param createdAt Unix milliseconds; null if unknown.
 */
export function memoryDays(date: string | null, createdAt: number | null): MemoryDays {
  return { givenDay: dayOf(date), createdDay: dayOf(createdAt) };
}
