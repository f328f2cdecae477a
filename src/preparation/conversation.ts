// Is a text a conversation, and how is it read? Control only: how lines and JSON are read, how days are found and how turns
// become chunks are files of their own (conversation/).

import { dayOf } from "./conversation/day.ts";
import { readJsonTurns } from "./conversation/json.ts";
import { readLineTurns } from "./conversation/lines.ts";
import type { Conversation } from "./conversation/turns.ts";
import { type DetectedType, detectType } from "./type.ts";

/** The type whose texts are read turn by turn, as a caller gives it and as detection does. */
const CONVERSATION = "conversation" satisfies DetectedType;

/** Longer JSON is read as any other text: what is made of its turns travels between processes, and would not fit. */
const JSON_UNITS_MAX = 16 * 1024 * 1024;

/** What a text is, and its turns where it is a conversation. */
export interface Recognised {
  readonly detected: DetectedType;
  /** null: to be read as any other text, whatever its type is called. */
  readonly conversation: Conversation | null;
}

/**
 * The type of a text, and its turns where it is a conversation by what the caller says or, where the caller says nothing,
 * by what it looks like. Called a conversation and none to be seen in it, it is read as any other text.
 * @param given the caller's type; null: to be found.
 */
export function recognise(content: string, given: string | null): Recognised {
  const inJson = content.length <= JSON_UNITS_MAX ? readJsonTurns(content) : null;
  const detected = inJson === null ? detectType(content.trimStart()) : CONVERSATION;
  const isConversation = (given ?? detected).trim().toLowerCase() === CONVERSATION;
  return { detected, conversation: isConversation ? (inJson ?? readLineTurns(content)) : null };
}

/** The days that a memory brings for turns that name none. */
export interface KnownDays {
  readonly givenDay: string | null;
  readonly lastDay: string | null;
}

/**
 * Those days, as `8 May 2023`.
 * @param date what the memory's metadata call its date: a text with a day in it, or Unix seconds or milliseconds.
 * @param createdAt Unix milliseconds; null: not known.
 */
export function knownDays(date: string | null, createdAt: number | null): KnownDays {
  return { givenDay: dayOf(date), lastDay: dayOf(createdAt) };
}
