// ChatStore in memory.

import type { Chat, ChatDraft, Message, MessageDraft, MessageSource } from "../../src/domain/chat.ts";
import type { ChatId, MessageId, ProjectId } from "../../src/domain/ids.ts";
import type { MemoryScope } from "../../src/domain/memory-attributes.ts";
import { decodeCursor, type Page, pageOf } from "../../src/domain/page.ts";
import type { ChatStore } from "../../src/ports/chat-store.ts";
import type { Listing } from "../../src/ports/user-store.ts";
import { isLive } from "./memory-row.ts";
import { cursorBinding, existingProject, nameUser } from "./projects.ts";
import { type ChatRow, jsonCopy, type MessageRow, type Session, type Synchronous } from "./session.ts";

/** Maximum length of a title made from a message, in code points including `…`. */
const TITLE_CHARACTERS_MAX = 80;

/** ChatStore in memory. */
export class InMemoryChats implements Synchronous<ChatStore> {
  constructor(private readonly session: Session) {}

  create(projectId: ProjectId, { userId, agentId = null, sessionId = null, title }: ChatDraft): Chat {
    existingProject(this.session, projectId);
    const id = this.session.newId("chat") as ChatId;
    const userKey = userId === null ? null : nameUser(this.session, projectId, userId).key;
    const key = this.session.next("chat");
    const row = { key, id, projectId, userKey, userId, agentId, sessionId, title, createdAt: this.session.now };
    return toChat(this.session.tables.chats.set(id, row));
  }

  get(projectId: ProjectId, id: ChatId): Chat | null {
    const row = this.#find(projectId, id);
    return row === null ? null : toChat(row);
  }

  list(projectId: ProjectId, { limit, cursor, userId, agentId, sessionId }: Listing & MemoryScope): Page<Chat> {
    const list = ["chats", userId ?? null, agentId ?? null, sessionId ?? null] as const;
    const binding = cursorBinding(this.session, projectId, list);
    const before = cursor === undefined ? null : decodeCursor(cursor, binding);
    const rows = this.session.tables.chats
      .rows(
        (row) =>
          row.projectId === projectId &&
          (userId === undefined || row.userId === userId) &&
          (agentId === undefined || row.agentId === agentId) &&
          (sessionId === undefined || row.sessionId === sessionId) &&
          (before === null || row.key < before),
      )
      .reverse();
    const toItems = (page: readonly ChatRow[]) => page.map(toChat);
    return pageOf(rows.slice(0, limit + 1), { limit, binding, keyOf: ({ key }) => key, toItems });
  }

  retitle(projectId: ProjectId, id: ChatId, title: string | null): Chat | null {
    const row = this.#find(projectId, id);
    return row === null ? null : toChat(this.session.tables.chats.set(id, { ...row, title }));
  }

  remove(projectId: ProjectId, id: ChatId): boolean {
    if (this.#find(projectId, id) === null) return false;
    for (const message of this.#messagesOf(id)) this.session.tables.messages.delete(message.id);
    return this.session.tables.chats.delete(id);
  }

  removeAllOf(projectId: ProjectId, userId: string): void {
    for (const chat of this.session.tables.chats.rows((row) => row.userId === userId)) this.remove(projectId, chat.id);
  }

  append(projectId: ProjectId, id: ChatId, draft: MessageDraft): Message | null {
    const chat = this.#find(projectId, id);
    if (chat === null) return null;
    const { tables, now } = this.session;
    const earlier = this.#messagesOf(id);
    const isFirst = draft.role === "user" && !earlier.some(({ role }) => role === "user");
    if (isFirst && chat.title === null) tables.chats.set(id, { ...chat, title: titleOf(draft.content) });
    const messageId = this.session.newId("msg") as MessageId;
    // a memory that was removed while the answer was generated is not stored as a source
    const sources = draft.sources.filter(({ memoryKey }) => {
      const memory = tables.memories.get(memoryKey);
      return memory !== undefined && memory.projectId === projectId && isLive(memory, now);
    });
    const row: MessageRow = {
      key: this.session.next("message"),
      id: messageId,
      chatId: id,
      role: draft.role,
      content: draft.content,
      isInterrupted: draft.isInterrupted,
      sources: sources.map(({ memoryKey, shown }) => ({ memoryKey, shown: jsonCopy(shown) })),
      sourceCount: draft.sources.length,
      // times never decrease within a chat, even if the clock was set back
      createdAt: Math.max(now, chat.createdAt, earlier.at(-1)?.createdAt ?? 0),
    };
    return this.#toMessage(chat, tables.messages.set(messageId, row));
  }

  message(projectId: ProjectId, id: ChatId, messageId: MessageId): Message | null {
    return this.history(projectId, id).find((message) => message.id === messageId) ?? null;
  }

  history(projectId: ProjectId, id: ChatId): readonly Message[] {
    const chat = this.#find(projectId, id);
    return chat === null ? [] : this.#messagesOf(id).map((row) => this.#toMessage(chat, row));
  }

  turns(projectId: ProjectId, id: ChatId, count: number): readonly Pick<Message, "role" | "content">[] {
    const chat = this.#find(projectId, id);
    if (chat === null) return [];
    const rows = this.#messagesOf(id);
    const firstWithLostSource = rows.find((row) => this.#liveSources(chat, row).length < row.sourceCount);
    return rows
      .filter(({ role, key }) => role === "user" || firstWithLostSource === undefined || key < firstWithLostSource.key)
      .slice(-count)
      .map(({ role, content }) => ({ role, content }));
  }

  messages(projectId: ProjectId, id: ChatId, { limit, cursor }: Listing): Page<Message> {
    const binding = cursorBinding(this.session, projectId, ["messages", id]);
    const after = cursor === undefined ? null : decodeCursor(cursor, binding);
    const chat = this.#find(projectId, id);
    if (chat === null) return { items: [], cursor: null };
    const rows = this.#messagesOf(id).filter(({ key }) => after === null || key > after);
    const toItems = (page: readonly MessageRow[]) => page.map((row) => this.#toMessage(chat, row));
    return pageOf(rows.slice(0, limit + 1), { limit, binding, keyOf: ({ key }) => key, toItems });
  }

  #find(projectId: ProjectId, id: ChatId): ChatRow | null {
    const row = this.session.tables.chats.get(id);
    return row === undefined || row.projectId !== projectId ? null : row;
  }

  #messagesOf(id: ChatId): MessageRow[] {
    return this.session.tables.messages.rows(({ chatId }) => chatId === id);
  }

  // Returns the sources whose memories are live, and have the user, agent and session that the chat has.
  #liveSources(chat: ChatRow, { sources }: MessageRow): readonly MessageSource[] {
    return sources.filter(({ memoryKey }) => {
      const memory = this.session.tables.memories.get(memoryKey);
      if (memory === undefined || !isLive(memory, this.session.now)) return false;
      return (
        (chat.userKey === null || memory.userKey === chat.userKey) &&
        (chat.agentId === null || memory.agentId === chat.agentId) &&
        (chat.sessionId === null || memory.sessionId === chat.sessionId)
      );
    });
  }

  #toMessage(chat: ChatRow, row: MessageRow): Message {
    const { id, role, content, isInterrupted, createdAt } = row;
    return { id, role, content, sources: this.#liveSources(chat, row), isInterrupted, createdAt };
  }
}

function toChat({ id, userId, agentId, sessionId, title, createdAt }: ChatRow): Chat {
  return { id, userId, agentId, sessionId, title, createdAt };
}

/**
 * Makes the title of a chat from a message: its first line that is not blank, shortened between words if it is too
 * long. Returns null if the message has no visible characters.
 */
function titleOf(message: string): string | null {
  const line = (/\S.*/.exec(message)?.[0] ?? "").replace(/\s+/g, " ").trim();
  const characters = Array.from(line);
  if (characters.length <= TITLE_CHARACTERS_MAX) return line === "" ? null : line;
  const head = characters.slice(0, TITLE_CHARACTERS_MAX - 1).join("");
  const lastSpace = characters[TITLE_CHARACTERS_MAX - 1] === " " ? head.length : head.lastIndexOf(" ");
  return `${(lastSpace < head.length / 2 ? head : head.slice(0, lastSpace)).trimEnd()}…`;
}
