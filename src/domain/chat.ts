// Chats, their messages, and the passages that support an answer.

import type { AnswerState } from "./answer-state.ts";
import type { ChatId, MemoryKey, MessageId } from "./ids.ts";
import type { JsonObject } from "./json.ts";
import type { ScopeName } from "./memory-attributes.ts";

/**
 * A chat without its messages. It belongs to its user. Its messages search the memories of its user, agent and session;
 * where it has null, those of all.
 */
export interface Chat extends Readonly<Record<ScopeName, string | null>> {
  readonly id: ChatId;
  readonly title: string | null;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

/** Input of a new chat. */
export interface ChatDraft extends Partial<Readonly<Record<ScopeName, string | null>>> {
  readonly userId: string | null;
  readonly title: string | null;
}

/** A passage as it was shown with an answer. It disappears from every answer when its memory is deleted. */
export interface MessageSource {
  readonly memoryKey: MemoryKey;
  /** The API's SearchResult as it was returned, `cited` included. */
  readonly shown: JsonObject;
}

/** Author of a message. */
export type MessageRole = "user" | "assistant";

/** One message of a chat. */
export interface Message {
  readonly id: MessageId;
  readonly role: MessageRole;
  readonly content: string;
  /** Sources from live memories; empty for a user's message. */
  readonly sources: readonly MessageSource[];
  /** Whether the caller disconnected before the answer was complete. */
  readonly isInterrupted: boolean;
  /** null for a user's message, an interrupted answer, and an answer that was stored before states existed. */
  readonly answerState: AnswerState | null;
  /** Why a user's message got no answer, as one public sentence; null if it got one, or the caller disconnected. */
  readonly failure: string | null;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

/** A message to store. */
export type MessageDraft = Pick<Message, "role" | "content" | "sources" | "isInterrupted" | "answerState">;
