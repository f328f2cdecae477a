// Conversations: chats, their messages, and the passages that an answer stood on.

import type { ChatId, MemoryKey, MessageId } from "./ids.ts";
import type { JsonObject } from "./memory.ts";

/** A chat without its messages. */
export interface Chat {
  readonly id: ChatId;
  /** null: its messages search the whole project. */
  readonly userId: string | null;
  readonly title: string | null;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

/** A passage as it was shown beside an answer. It goes out of every answer with the memory that it came from. */
export interface MessageSource {
  readonly memoryKey: MemoryKey;
  /** The SearchResult of the interface as it was answered, `cited` included. */
  readonly shown: JsonObject;
}

/** Who said a message. */
export type MessageRole = "user" | "assistant";

/** One message of a chat. */
export interface Message {
  readonly id: MessageId;
  readonly role: MessageRole;
  readonly content: string;
  /** Of live memories only; empty for a user's message. */
  readonly sources: readonly MessageSource[];
  /** The caller hung up before the answer was whole. */
  readonly isInterrupted: boolean;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

/** A message to be stored. */
export type MessageDraft = Pick<Message, "role" | "content" | "sources" | "isInterrupted">;
