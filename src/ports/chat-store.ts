// Chats and their messages. Implemented by stores/, on SQLite and on PostgreSQL.
//
// Obligations of an implementation: each method is one transaction, or part of the transaction that its store belongs
// to (transactions.ts). Lists are keyset-paged and stable: chats newest first, messages oldest first. A message is
// returned only with sources whose memories are live when it is read. Sources are left out if their memory was deleted,
// has expired, or has another user, agent or session than the chat, as far as the chat has them. Erasing a memory also
// erases its sources in all messages.

import type { Chat, ChatDraft, Message, MessageDraft } from "../domain/chat.ts";
import type { ChatId, MessageId, ProjectId } from "../domain/ids.ts";
import type { MemoryScope } from "../domain/memory-attributes.ts";
import type { Page } from "../domain/page.ts";
import type { Listing } from "./user-store.ts";

/** Chats and messages. */
export interface ChatStore {
  /** Creates a chat. If a user is given, makes the user known (see UserStore). */
  create(projectId: ProjectId, draft: ChatDraft): Promise<Chat>;
  get(projectId: ProjectId, id: ChatId): Promise<Chat | null>;
  /**
   * @param listing without conditions it selects every chat of the project
   * @throws Fault `invalid_cursor` if the cursor belongs to another list or is damaged
   */
  list(projectId: ProjectId, listing: Listing & MemoryScope): Promise<Page<Chat>>;
  /** Returns null if the chat does not exist. */
  retitle(projectId: ProjectId, id: ChatId, title: string | null): Promise<Chat | null>;
  /** Removes a chat with its messages for good. Returns false if it does not exist. */
  remove(projectId: ProjectId, id: ChatId): Promise<boolean>;
  /** Removes all chats of a user for good. */
  removeAllOf(projectId: ProjectId, userId: string): Promise<void>;

  /**
   * Appends a message. Returns null if the chat does not exist (any more). If the chat has no title, it gets one from
   * the first message of the user.
   */
  append(projectId: ProjectId, id: ChatId, draft: MessageDraft): Promise<Message | null>;
  /** Stores why a message of the user got no answer. Does nothing if the chat or the message does not exist. */
  fail(projectId: ProjectId, id: ChatId, messageId: MessageId, failure: string): Promise<void>;
  /** Returns null if the chat has no such message. */
  message(projectId: ProjectId, id: ChatId, messageId: MessageId): Promise<Message | null>;
  /** All messages, oldest first. */
  history(projectId: ProjectId, id: ChatId): Promise<readonly Message[]>;
  /**
   * The last `count` messages that may be given to the language model for the next answer, oldest first. All messages
   * of the user may be used. An answer may be used if all its sources, and those of all earlier answers, are still
   * live. Answers after one with a lost source are left out, because they may repeat what it said; so are answers that
   * found nothing.
   */
  turns(projectId: ProjectId, id: ChatId, count: number): Promise<readonly Pick<Message, "role" | "content">[]>;
  /**
   * One page of messages, oldest first.
   * @throws Fault `invalid_cursor` if the cursor belongs to another list or is damaged
   */
  messages(projectId: ProjectId, id: ChatId, listing: Listing): Promise<Page<Message>>;
}
