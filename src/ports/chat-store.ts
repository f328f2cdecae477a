// Chats and their messages. Implemented by adapters/embedded on SQLite.
//
// What an implementation owes: each method is one transaction, or part of the transaction that its store belongs to
// (transactions.ts). Lists are keyset-paged and stable: chats newest first, messages oldest first. A message shows only
// sources of memories that are live when it is read. Sources of memories that were deleted, have expired or were given
// to another user are left out. When a memory is erased, its sources go for good.

import type { Chat, Message, MessageDraft } from "../domain/chat.ts";
import type { ChatId, MessageId, ProjectId } from "../domain/ids.ts";
import type { Page } from "../domain/page.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { Listing } from "./user-store.ts";

/** Chats and messages. */
export interface ChatStore {
  /** Creates a chat. Makes its user known if one is given. */
  create(
    projectId: ProjectId,
    draft: { readonly userId: string | null; readonly title: string | null },
  ): Eventually<Chat>;
  get(projectId: ProjectId, id: ChatId): Eventually<Chat | null>;
  /** @param listing without `userId`: every chat of the project. @throws Fault `invalid_cursor` */
  list(projectId: ProjectId, listing: Listing & { readonly userId?: string }): Eventually<Page<Chat>>;
  /** Returns null if the chat does not exist. */
  retitle(projectId: ProjectId, id: ChatId, title: string | null): Eventually<Chat | null>;
  /** Removes a chat with its messages for good. Returns false if it does not exist. */
  remove(projectId: ProjectId, id: ChatId): Eventually<boolean>;
  /** Removes all chats of a user for good. */
  removeAllOf(projectId: ProjectId, userId: string): Eventually<void>;

  /**
   * Appends a message. Returns null if the chat does not exist (any more). The first message of the user gives a chat
   * without title its title.
   */
  append(projectId: ProjectId, id: ChatId, draft: MessageDraft): Eventually<Message | null>;
  /** Returns null if the chat has no such message. */
  message(projectId: ProjectId, id: ChatId, messageId: MessageId): Eventually<Message | null>;
  /** All messages, oldest first. */
  history(projectId: ProjectId, id: ChatId): Eventually<readonly Message[]>;
  /**
   * The last `count` messages that the next answer may read, oldest first. They are all messages of the user, and the
   * answers before the first answer that has a source that is no longer live. Later answers are left out because they
   * may repeat what that answer said.
   */
  turns(projectId: ProjectId, id: ChatId, count: number): Eventually<readonly Pick<Message, "role" | "content">[]>;
  /** One page of messages, oldest first. @throws Fault `invalid_cursor` */
  messages(projectId: ProjectId, id: ChatId, listing: Listing): Eventually<Page<Message>>;
}
