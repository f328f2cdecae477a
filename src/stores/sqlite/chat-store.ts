// ChatStore on SQLite: chats, messages and their sources. The answer service decides which memories may be sources;
// this store returns a source as long as its memory is live.

import type {
  Chat,
  ChatConditions,
  ChatDraft,
  Message,
  MessageDraft,
  MessageRole,
  MessageSource,
} from "../../domain/chat.ts";
import { invariant } from "../../domain/fault.ts";
import type { ChatId, MessageId, ProjectId } from "../../domain/ids.ts";
import { decodeCursor, type Page, pageOf } from "../../domain/page.ts";
import type { Clock } from "../../kit/clock.ts";
import type { ChatStore } from "../../ports/chat-store.ts";
import type { Listing } from "../../ports/user-store.ts";
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
} from "../rows/chat.ts";
import { newId, type RandomBytes, systemRandom } from "../rows/random.ts";
import { LIVE, PROJECT_KEY } from "../rows/sql.ts";
import { cursorBinding } from "./cursor-binding.ts";
import type { SqliteDatabase } from "./database.ts";
import { KEYS, keyList } from "./memory-row.ts";
import { ensureKnownUser, projectKeyOf, USER_KEY } from "./user-rows.ts";

/** The largest integer of SQLite. It is larger than every key. */
const MESSAGE_KEY_MAX = "9223372036854775807";
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
const INSERT_MESSAGE = `INSERT INTO messages (id, chat_key, role, content, is_interrupted, source_count, created_at)
  SELECT $id, chat_key, $role, $content, $isInterrupted, $sourceCount, max($now, created_at, ifnull((SELECT created_at FROM messages
    WHERE messages.chat_key = chats.chat_key ORDER BY message_key DESC LIMIT 1), 0))
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

const ONE_MESSAGE = `SELECT ${MESSAGE_COLUMNS} FROM messages WHERE chat_key = ${CHAT_KEY} AND id = $messageId`;

const LIVE_SOURCES = `SELECT message_sources.message_key, message_sources.memory_key, message_sources.shown
  FROM message_sources JOIN memories USING (memory_key) JOIN messages USING (message_key) JOIN chats USING (chat_key)
  WHERE message_sources.message_key IN ${KEYS} AND ${IS_LIVE_SOURCE}
  ORDER BY message_sources.message_key, message_sources.position`;

// finds the first answer that has fewer live sources now than when it was stored
const FIRST_WITH_LOST_SOURCE = `SELECT messages.message_key FROM messages JOIN chats USING (chat_key)
  WHERE messages.chat_key = ${CHAT_KEY} AND messages.source_count >
    (SELECT count(*) FROM message_sources JOIN memories USING (memory_key)
      WHERE message_sources.message_key = messages.message_key AND ${IS_LIVE_SOURCE})
  ORDER BY messages.message_key LIMIT 1`;

const LAST_TURNS = `SELECT role, content FROM messages WHERE chat_key = ${CHAT_KEY}
  AND (role = 'user' OR message_key < ifnull((${FIRST_WITH_LOST_SOURCE}), ${MESSAGE_KEY_MAX}))
  ORDER BY message_key DESC LIMIT $rows`;

type OneChat = { readonly project: string; readonly id: string };

/** ChatStore on SQLite. */
export class SqliteChatStore implements ChatStore {
  readonly #database: SqliteDatabase;
  readonly #clock: Clock;
  readonly #random: RandomBytes;

  constructor(options: { readonly database: SqliteDatabase; readonly clock: Clock; readonly random?: RandomBytes }) {
    this.#database = options.database;
    this.#clock = options.clock;
    this.#random = options.random ?? systemRandom;
  }

  create(projectId: ProjectId, draft: ChatDraft): Chat {
    return this.#database.transaction(() => {
      const now = this.#clock.now();
      const projectKey = projectKeyOf(this.#database, projectId);
      const row = this.#database
        .prepare<
          ChatRow,
          {
            id: string;
            projectKey: bigint;
            userKey: bigint | null;
            agentId: string | null;
            sessionId: string | null;
            title: string | null;
            now: number;
          }
        >(INSERT_CHAT)
        .get({
          id: this.#newId("chat", now),
          projectKey,
          userKey: draft.userId === null ? null : ensureKnownUser(this.#database, projectKey, draft.userId, now),
          agentId: draft.agentId ?? null,
          sessionId: draft.sessionId ?? null,
          title: draft.title,
          now,
        });
      invariant(row !== null, "an inserted chat returned no row");
      return toChat(row);
    });
  }

  get(projectId: ProjectId, id: ChatId): Chat | null {
    const row = this.#find(projectId, id);
    return row === null ? null : toChat(row);
  }

  list(projectId: ProjectId, listing: Listing & ChatConditions): Page<Chat> {
    const { userId = null, agentId = null, sessionId = null, limit, cursor } = listing;
    const binding = cursorBinding(this.#database, projectId, ["chats", userId, agentId, sessionId]);
    const before = cursor === undefined ? null : decodeCursor(cursor, binding);
    // one statement per combination of conditions, so that each uses its own index
    const conditions = [userId === null ? `chats.project_key = ${PROJECT_KEY}` : `chats.user_key = ${USER_KEY}`];
    if (agentId !== null) conditions.push("chats.agent_id = $agentId");
    if (sessionId !== null) conditions.push("chats.session_id = $sessionId");
    if (before !== null) conditions.push("chats.chat_key < $before");
    const rows = this.#database
      .prepare<ChatRow, Record<string, string | bigint | number>>(
        `SELECT ${CHAT_COLUMNS} FROM chats WHERE ${conditions.join(" AND ")} ORDER BY chats.chat_key DESC LIMIT $rows`,
      )
      .all({
        project: projectId,
        // one row more than requested shows whether another page follows
        rows: limit + 1,
        ...(userId !== null && { userId }),
        ...(agentId !== null && { agentId }),
        ...(sessionId !== null && { sessionId }),
        ...(before !== null && { before }),
      });
    return pageOf(rows, { limit, binding, keyOf: (row) => row.chat_key, toItems: (page) => page.map(toChat) });
  }

  retitle(projectId: ProjectId, id: ChatId, title: string | null): Chat | null {
    const row = this.#database
      .prepare<ChatRow, OneChat & { title: string | null }>(RETITLE)
      .get({ project: projectId, id, title });
    return row === null ? null : toChat(row);
  }

  remove(projectId: ProjectId, id: ChatId): boolean {
    return this.#database.prepare<never, OneChat>(REMOVE_CHAT).run({ project: projectId, id }) > 0;
  }

  removeAllOf(projectId: ProjectId, userId: string): void {
    this.#database
      .prepare<never, { project: string; userId: string }>(REMOVE_CHATS_OF_USER)
      .run({ project: projectId, userId });
  }

  append(projectId: ProjectId, id: ChatId, draft: MessageDraft): Message | null {
    return this.#database.transaction(() => {
      const chat = this.#find(projectId, id);
      if (chat === null) return null;
      if (draft.role === "user") this.#nameChat(chat.chat_key, draft.content);
      const message = this.#insertMessage(chat.chat_key, draft);
      for (const [position, source] of draft.sources.entries()) {
        this.#insertSource(projectId, message.message_key, position, source);
      }
      const [stored] = this.#withSources([message]);
      return stored ?? null;
    });
  }

  history(projectId: ProjectId, id: ChatId): readonly Message[] {
    return this.#withSources(this.#database.prepare<MessageRow, OneChat>(ALL_MESSAGES).all({ project: projectId, id }));
  }

  turns(projectId: ProjectId, id: ChatId, count: number): readonly Pick<Message, "role" | "content">[] {
    const params = { project: projectId, id, rows: count, now: this.#clock.now() };
    return this.#database
      .prepare<Pick<MessageRow, "role" | "content">, OneChat & { rows: number; now: number }>(LAST_TURNS)
      .all(params)
      .reverse()
      .map(({ role, content }) => ({ role: role as MessageRole, content }));
  }

  messages(projectId: ProjectId, id: ChatId, { limit, cursor }: Listing): Page<Message> {
    const binding = cursorBinding(this.#database, projectId, ["messages", id]);
    const params = { project: projectId, id, rows: limit + 1 };
    const rows =
      cursor === undefined
        ? this.#database.prepare<MessageRow, OneChat & { rows: number }>(FIRST_MESSAGES).all(params)
        : this.#database
            .prepare<MessageRow, OneChat & { rows: number; after: bigint }>(MESSAGES_AFTER)
            .all({ ...params, after: decodeCursor(cursor, binding) });
    const toItems = (page: readonly MessageRow[]) => this.#withSources(page);
    return pageOf(rows, { limit, binding, keyOf: (row) => row.message_key, toItems });
  }

  message(projectId: ProjectId, id: ChatId, messageId: MessageId): Message | null {
    const row = this.#database
      .prepare<MessageRow, OneChat & { messageId: string }>(ONE_MESSAGE)
      .get({ project: projectId, id, messageId });
    return row === null ? null : (this.#withSources([row])[0] ?? null);
  }

  #find(projectId: ProjectId, id: ChatId): ChatRow | null {
    return this.#database.prepare<ChatRow, OneChat>(FIND_CHAT).get({ project: projectId, id });
  }

  #nameChat(chatKey: bigint, content: string): void {
    this.#database
      .prepare<never, { chatKey: bigint; title: string | null }>(TITLE_FROM_FIRST_MESSAGE)
      .run({ chatKey, title: titleOf(content) });
  }

  #insertMessage(chatKey: bigint, { role, content, sources, isInterrupted }: MessageDraft): MessageRow {
    const now = this.#clock.now();
    const row = this.#database
      .prepare<
        MessageRow,
        {
          id: string;
          chatKey: bigint;
          role: MessageRole;
          content: string;
          isInterrupted: number;
          sourceCount: number;
          now: number;
        }
      >(INSERT_MESSAGE)
      .get({
        id: this.#newId("msg", now),
        chatKey,
        role,
        content,
        isInterrupted: isInterrupted ? 1 : 0,
        sourceCount: sources.length,
        now,
      });
    invariant(row !== null, "a chat disappeared within its own transaction");
    return row;
  }

  #insertSource(projectId: ProjectId, messageKey: bigint, position: number, source: MessageSource): void {
    this.#database
      .prepare<
        never,
        { project: string; messageKey: bigint; position: number; memoryKey: bigint; shown: string; now: number }
      >(INSERT_SOURCE)
      .run({
        project: projectId,
        messageKey,
        position,
        memoryKey: source.memoryKey,
        shown: JSON.stringify(source.shown),
        now: this.#clock.now(),
      });
  }

  #withSources(rows: readonly MessageRow[]): readonly Message[] {
    const sources = this.#database
      .prepare<SourceRow, { keys: string; now: number }>(LIVE_SOURCES)
      .all({ keys: keyList(rows.map((row) => row.message_key)), now: this.#clock.now() });
    const byMessage = Map.groupBy(sources, (source) => source.message_key);
    return rows.map((row) => toMessage(row, byMessage.get(row.message_key) ?? []));
  }

  #newId(prefix: "chat" | "msg", now: number): string {
    return newId(prefix, now, this.#random);
  }
}
