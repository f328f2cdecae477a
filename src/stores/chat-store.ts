// Implements ChatStore: chats, messages and their sources. The answer service decides which memories may be sources;
// this store returns a source as long as its memory is live.

import type { Chat, ChatDraft, Message, MessageDraft, MessageRole } from "../domain/chat.ts";
import { invariant } from "../domain/fault.ts";
import type { ChatId, MessageId, ProjectId } from "../domain/ids.ts";
import type { MemoryScope } from "../domain/memory-attributes.ts";
import { decodeCursor, type Page, pageOf } from "../domain/page.ts";
import type { ChatStore } from "../ports/chat-store.ts";
import type { Listing } from "../ports/user-store.ts";
import type { StoreContext } from "./context.ts";
import { cursorBinding } from "./cursor-binding.ts";
import type { Dialect } from "./dialect.ts";
import {
  CHAT_COLUMNS,
  type ChatRow,
  IS_LIVE_SOURCE,
  MESSAGE_COLUMNS,
  type MessageRow,
  type SourceRow,
  titleOf,
  toChat,
  toMessage,
} from "./rows/chat.ts";
import { newId } from "./rows/random.ts";
import { LIVE, PROJECT_KEY } from "./rows/sql.ts";
import type { Session } from "./session.ts";
import { projectKeyOf, USER_KEY, UserKeys } from "./user-rows.ts";

const INSERT_CHAT = `INSERT INTO chats (id, project_key, user_key, agent_id, session_id, title, created_at)
  VALUES ($id, $projectKey, $userKey, $agentId, $sessionId, $title, $now) RETURNING ${CHAT_COLUMNS}`;

const FIND_CHAT = `SELECT ${CHAT_COLUMNS} FROM chats WHERE id = $id AND project_key = ${PROJECT_KEY}`;

const RETITLE = `UPDATE chats SET title = $title WHERE id = $id AND project_key = ${PROJECT_KEY}
  RETURNING ${CHAT_COLUMNS}`;

const REMOVE_CHAT = `DELETE FROM chats WHERE id = $id AND project_key = ${PROJECT_KEY}`;

const REMOVE_CHATS_OF_USER = `DELETE FROM chats WHERE user_key = ${USER_KEY}`;

// only the first message of the user becomes the title: if the title is removed later, no later message replaces it
const TITLE_FROM_FIRST_MESSAGE = `UPDATE chats SET title = $title WHERE chat_key = $chatKey AND title IS NULL
  AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.chat_key = chats.chat_key AND role = 'user')`;

// even if the clock was set back, a message is not older than the one before it
const NEWEST =
  "SELECT created_at FROM messages WHERE messages.chat_key = chats.chat_key ORDER BY message_key DESC LIMIT 1";
const INSERT_MESSAGE = ({ greatest }: Dialect) => `INSERT INTO messages
    (id, chat_key, role, content, is_interrupted, answer_state, source_count, created_at)
  SELECT $id, chat_key, $role, $content, $isInterrupted, $answerState, $sourceCount,
    ${greatest("CAST($now AS bigint)", "created_at", `coalesce((${NEWEST}), 0)`)}
  FROM chats WHERE chat_key = $chatKey
  RETURNING ${MESSAGE_COLUMNS}`;

// a memory that was removed while the answer was generated gets no source row, because nothing would erase that row
// later
const INSERT_SOURCE = `INSERT INTO message_sources (message_key, position, memory_key, shown)
  SELECT $messageKey, $position, memory_key, $shown FROM memories
  WHERE memory_key = $memoryKey AND project_key = ${PROJECT_KEY} AND ${LIVE}`;

const CHAT_KEY = `(SELECT chat_key FROM chats WHERE id = $id AND project_key = ${PROJECT_KEY})`;

const ALL_MESSAGES = `SELECT ${MESSAGE_COLUMNS} FROM messages WHERE chat_key = ${CHAT_KEY} ORDER BY message_key`;
const FIRST_MESSAGES = `${ALL_MESSAGES} LIMIT $rows`;
const MESSAGES_AFTER = `SELECT ${MESSAGE_COLUMNS} FROM messages
  WHERE chat_key = ${CHAT_KEY} AND message_key > $after ORDER BY message_key LIMIT $rows`;

const FAIL = `UPDATE messages SET failure = $failure WHERE chat_key = ${CHAT_KEY} AND id = $messageId AND role = 'user'`;

const ONE_MESSAGE = `SELECT ${MESSAGE_COLUMNS} FROM messages WHERE chat_key = ${CHAT_KEY} AND id = $messageId`;

const LIVE_SOURCES = ({
  isIn,
}: Dialect) => `SELECT message_sources.message_key, message_sources.memory_key, message_sources.shown
  FROM message_sources JOIN memories USING (memory_key) JOIN messages USING (message_key) JOIN chats USING (chat_key)
  WHERE message_sources.message_key ${isIn("keys")} AND ${IS_LIVE_SOURCE}
  ORDER BY message_sources.message_key, message_sources.position`;

// finds the first answer that has fewer live sources now than when it was stored
const FIRST_WITH_LOST_SOURCE = `SELECT messages.message_key FROM messages JOIN chats USING (chat_key)
  WHERE messages.chat_key = ${CHAT_KEY} AND messages.source_count >
    (SELECT count(*) FROM message_sources JOIN memories USING (memory_key)
      WHERE message_sources.message_key = messages.message_key AND ${IS_LIVE_SOURCE})
  ORDER BY messages.message_key LIMIT 1`;

// an answer that found nothing is of no use later, and may repeat passages that are not among its sources
const LAST_TURNS = `SELECT role, content FROM messages WHERE chat_key = ${CHAT_KEY}
  AND coalesce(answer_state, '') <> 'not_found' AND (role = 'user' OR message_key < coalesce((${FIRST_WITH_LOST_SOURCE}), 9223372036854775807))
  ORDER BY message_key DESC LIMIT $rows`;

/** Chats and messages. */
export class StoredChats implements ChatStore {
  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
  ) {}

  async create(projectId: ProjectId, draft: ChatDraft): Promise<Chat> {
    const now = this.context.clock.now();
    const projectKey = await projectKeyOf(this.session, projectId);
    const row = await this.session.get<ChatRow>(INSERT_CHAT, {
      id: newId("chat", now, this.context.random),
      projectKey,
      userKey:
        draft.userId === null ? null : await new UserKeys(this.session, projectKey).ensureKnown(draft.userId, now),
      agentId: draft.agentId ?? null,
      sessionId: draft.sessionId ?? null,
      title: draft.title,
      now,
    });
    invariant(row !== null, "an inserted chat returned no row");
    return toChat(row);
  }

  async get(projectId: ProjectId, id: ChatId): Promise<Chat | null> {
    const row = await this.#find(projectId, id);
    return row === null ? null : toChat(row);
  }

  async list(projectId: ProjectId, listing: Listing & MemoryScope): Promise<Page<Chat>> {
    const { userId = null, agentId = null, sessionId = null, limit, cursor } = listing;
    const binding = await cursorBinding(this.session, projectId, ["chats", userId, agentId, sessionId]);
    const before = cursor === undefined ? null : decodeCursor(cursor, binding);
    // one statement per combination of conditions, so that each uses its own index
    const conditions = [userId === null ? `chats.project_key = ${PROJECT_KEY}` : `chats.user_key = ${USER_KEY}`];
    if (agentId !== null) conditions.push("chats.agent_id = $agentId");
    if (sessionId !== null) conditions.push("chats.session_id = $sessionId");
    if (before !== null) conditions.push("chats.chat_key < $before");
    const rows = await this.session.all<ChatRow>(
      `SELECT ${CHAT_COLUMNS} FROM chats WHERE ${conditions.join(" AND ")} ORDER BY chats.chat_key DESC LIMIT $rows`,
      // one row more than requested shows whether another page follows
      { project: projectId, rows: limit + 1, userId, agentId, sessionId, before },
    );
    return pageOf(rows, { limit, binding, keyOf: (row) => row.chat_key, toItems: (page) => page.map(toChat) });
  }

  async retitle(projectId: ProjectId, id: ChatId, title: string | null): Promise<Chat | null> {
    const row = await this.session.get<ChatRow>(RETITLE, { project: projectId, id, title });
    return row === null ? null : toChat(row);
  }

  async remove(projectId: ProjectId, id: ChatId): Promise<boolean> {
    return (await this.session.run(REMOVE_CHAT, { project: projectId, id })) > 0;
  }

  async removeAllOf(projectId: ProjectId, userId: string): Promise<void> {
    await this.session.run(REMOVE_CHATS_OF_USER, { project: projectId, userId });
  }

  async append(projectId: ProjectId, id: ChatId, draft: MessageDraft): Promise<Message | null> {
    const chat = await this.#find(projectId, id);
    if (chat === null) return null;
    const { role, content, sources, isInterrupted, answerState } = draft;
    const chatKey = chat.chat_key;
    if (role === "user") await this.session.run(TITLE_FROM_FIRST_MESSAGE, { chatKey, title: titleOf(content) });
    const now = this.context.clock.now();
    const message = await this.session.get<MessageRow>(INSERT_MESSAGE, {
      id: newId("msg", now, this.context.random),
      chatKey,
      role,
      content,
      isInterrupted: isInterrupted ? 1 : 0,
      answerState,
      sourceCount: sources.length,
      now,
    });
    invariant(message !== null, "a chat disappeared within its own transaction");
    for (const [position, { memoryKey, shown }] of sources.entries()) {
      const values = { messageKey: message.message_key, position, memoryKey, shown: JSON.stringify(shown), now };
      await this.session.run(INSERT_SOURCE, { project: projectId, ...values });
    }
    const [stored] = await this.#withSources([message]);
    return stored ?? null;
  }

  async fail(projectId: ProjectId, id: ChatId, messageId: MessageId, failure: string): Promise<void> {
    await this.session.run(FAIL, { project: projectId, id, messageId, failure });
  }

  async history(projectId: ProjectId, id: ChatId): Promise<readonly Message[]> {
    return this.#withSources(await this.session.all<MessageRow>(ALL_MESSAGES, { project: projectId, id }));
  }

  async turns(projectId: ProjectId, id: ChatId, count: number): Promise<readonly Pick<Message, "role" | "content">[]> {
    const params = { project: projectId, id, rows: count, now: this.context.clock.now() };
    const rows = await this.session.all<Pick<MessageRow, "role" | "content">>(LAST_TURNS, params);
    return rows.toReversed().map(({ role, content }) => ({ role: role as MessageRole, content }));
  }

  async messages(projectId: ProjectId, id: ChatId, { limit, cursor }: Listing): Promise<Page<Message>> {
    const binding = await cursorBinding(this.session, projectId, ["messages", id]);
    const params = { project: projectId, id, rows: limit + 1 };
    const rows =
      cursor === undefined
        ? await this.session.all<MessageRow>(FIRST_MESSAGES, params)
        : await this.session.all<MessageRow>(MESSAGES_AFTER, { ...params, after: decodeCursor(cursor, binding) });
    const items = await this.#withSources(rows.slice(0, limit));
    return pageOf(rows, { limit, binding, keyOf: (row) => row.message_key, toItems: () => items });
  }

  async message(projectId: ProjectId, id: ChatId, messageId: MessageId): Promise<Message | null> {
    const row = await this.session.get<MessageRow>(ONE_MESSAGE, { project: projectId, id, messageId });
    return row === null ? null : ((await this.#withSources([row]))[0] ?? null);
  }

  #find(projectId: ProjectId, id: ChatId): Promise<ChatRow | null> {
    return this.session.get<ChatRow>(FIND_CHAT, { project: projectId, id });
  }

  async #withSources(rows: readonly MessageRow[]): Promise<readonly Message[]> {
    if (rows.length === 0) return [];
    const keys = rows.map((row) => row.message_key);
    const sources = await this.session.all<SourceRow>(LIVE_SOURCES, { keys, now: this.context.clock.now() });
    const byMessage = Map.groupBy(sources, (source) => source.message_key);
    return rows.map((row) => toMessage(row, byMessage.get(row.message_key) ?? []));
  }
}
