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
  /** Makes the user known where one is given. */
  create(
    projectId: ProjectId,
    draft: { readonly userId: string | null; readonly title: string | null },
  ): Eventually<Chat>;
  get(projectId: ProjectId, id: ChatId): Eventually<Chat | null>;
  /** @param listing `userId` absent: every chat of the project. @throws Fault `invalid_cursor` */
  list(projectId: ProjectId, listing: Listing & { readonly userId?: string }): Eventually<Page<Chat>>;
  /** null: there is no such chat. */
  retitle(projectId: ProjectId, id: ChatId, title: string | null): Eventually<Chat | null>;
  /** Removes a chat with its messages for good; false: there was none. */
  remove(projectId: ProjectId, id: ChatId): Eventually<boolean>;
  /** Removes all chats of a user for good. */
  removeAllOf(projectId: ProjectId, userId: string): Eventually<void>;

  /** Appends a message; null: there is no such chat (any more). The first user's message names a chat without title. */
  append(projectId: ProjectId, id: ChatId, draft: MessageDraft): Eventually<Message | null>;
  /** null: there is no such message in this chat. */
  message(projectId: ProjectId, id: ChatId, messageId: MessageId): Eventually<Message | null>;
  /** All messages, oldest first. */
  history(projectId: ProjectId, id: ChatId): Eventually<readonly Message[]>;
  /**
   * The last `count` messages that an answer may go on with, oldest first: what a user said, and what was answered
   * before the first answer one of whose sources is no longer live. Later answers may repeat what that one said.
   */
  turns(projectId: ProjectId, id: ChatId, count: number): Eventually<readonly Pick<Message, "role" | "content">[]>;
  /** One page of messages, oldest first. @throws Fault `invalid_cursor` */
  messages(projectId: ProjectId, id: ChatId, listing: Listing): Eventually<Page<Message>>;
}
