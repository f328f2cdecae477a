// Chats, their messages, and the passages that support an answer.

import type { ChatId, MemoryKey, MessageId } from "./ids.ts";
import type { JsonObject } from "./memory.ts";

/** A chat without its messages. */
export interface Chat {
  readonly id: ChatId;
  /** User that the chat belongs to. If it is null, the chat's messages search the whole project. */
  readonly userId: string | null;
  /** The chat's messages search the memories of this agent only; null for those of all. */
  readonly agentId: string | null;
  /** The chat's messages search the memories of this session only; null for those of all. */
  readonly sessionId: string | null;
  readonly title: string | null;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

/** Input of a new chat. */
export interface ChatDraft {
  readonly userId: string | null;
  readonly agentId?: string | null;
  readonly sessionId?: string | null;
  readonly title: string | null;
}

/** Selects chats for a list. A chat is listed if it meets all conditions that are given. */
export interface ChatConditions {
  readonly userId?: string;
  readonly agentId?: string;
  readonly sessionId?: string;
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
  /** Unix milliseconds. */
  readonly createdAt: number;
}

/** A message to store. */
export type MessageDraft = Pick<Message, "role" | "content" | "sources" | "isInterrupted">;
