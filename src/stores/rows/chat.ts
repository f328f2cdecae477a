// Converts rows of chats, messages and their sources, and makes the title of a chat from its first message.

import type { AnswerState } from "../../domain/answer-state.ts";
import type { Chat, Message, MessageRole, MessageSource } from "../../domain/chat.ts";
import type { ChatId, MemoryKey, MessageId } from "../../domain/ids.ts";
import type { JsonObject } from "../../domain/json.ts";
import { parseJson } from "../../kit/exact-json.ts";
import { LIVE } from "./sql.ts";

/** Maximum length of a title made from a message, in code points including `…`: fits one line in a list of chats. */
const TITLE_CHARACTERS_MAX = 80;

/** The columns of a ChatRow, for SELECT and RETURNING. */
export const CHAT_COLUMNS = `chats.chat_key, chats.id, chats.title, chats.created_at, chats.agent_id, chats.session_id,
  (SELECT users.id FROM users WHERE users.user_key = chats.user_key) AS user_id`;

/**
 * Condition for a source: its memory is live, and has the same user, agent and session as the chat, if the chat has
 * them. A memory that was moved to another user is no longer a source.
 */
export const IS_LIVE_SOURCE = `${LIVE} AND (chats.user_key IS NULL OR memories.user_key = chats.user_key)
  AND (chats.agent_id IS NULL OR memories.agent_id = chats.agent_id)
  AND (chats.session_id IS NULL OR memories.session_id = chats.session_id)`;

/** The columns of a MessageRow, for SELECT and RETURNING. */
export const MESSAGE_COLUMNS = `messages.message_key, messages.id, messages.role, messages.content, messages.is_interrupted,
  messages.answer_state, messages.failure, messages.created_at`;

/** A row of `chats`, with the id of its user. */
export type ChatRow = {
  readonly chat_key: bigint;
  readonly id: string;
  readonly user_id: string | null;
  readonly agent_id: string | null;
  readonly session_id: string | null;
  readonly title: string | null;
  readonly created_at: bigint;
};

/** A row of `messages`. */
export type MessageRow = {
  readonly message_key: bigint;
  readonly id: string;
  readonly role: string;
  readonly content: string;
  readonly is_interrupted: bigint;
  readonly answer_state: string | null;
  readonly failure: string | null;
  readonly created_at: bigint;
};

/** A row of `message_sources`. */
export type SourceRow = { readonly message_key: bigint; readonly memory_key: bigint; readonly shown: string };

/**
 * Title of a chat, made from its first message: the first line, cut between words to at most 80 code points. null for a
 * message without visible characters.
 */
export function titleOf(message: string): string | null {
  const line = (/\S.*/.exec(message)?.[0] ?? "").replace(/\s+/g, " ").trim();
  const characters = Array.from(line);
  if (characters.length <= TITLE_CHARACTERS_MAX) return line === "" ? null : line;
  const head = characters.slice(0, TITLE_CHARACTERS_MAX - 1).join("");
  const isWordWhole = characters[TITLE_CHARACTERS_MAX - 1] === " ";
  const lastSpace = isWordWhole ? head.length : head.lastIndexOf(" ");
  // if there is no space in the second half (a script without spaces, a URL), the text is cut within a word: a cut word
  // says more than a much shorter title
  const cut = lastSpace < head.length / 2 ? head : head.slice(0, lastSpace);
  return `${cut.trimEnd()}…`;
}

/** Converts a row to a Chat. */
export function toChat(row: ChatRow): Chat {
  const { id, user_id: userId, agent_id: agentId, session_id: sessionId, title } = row;
  return { id: id as ChatId, userId, agentId, sessionId, title, createdAt: Number(row.created_at) };
}

/** Converts a row and the rows of its sources, in their order, to a Message. */
export function toMessage(row: MessageRow, sources: readonly SourceRow[]): Message {
  return {
    id: row.id as MessageId,
    role: row.role as MessageRole,
    content: row.content,
    sources: sources.map(
      (source): MessageSource => ({
        memoryKey: source.memory_key as MemoryKey,
        shown: parseJson(source.shown) as JsonObject,
      }),
    ),
    isInterrupted: row.is_interrupted === 1n,
    answerState: row.answer_state as AnswerState | null,
    failure: row.failure,
    createdAt: Number(row.created_at),
  };
}
