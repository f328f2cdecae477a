// The operations on /v1/chats.

import type { Static } from "@sinclair/typebox";
import type { Chat, Message } from "../domain/chat.ts";
import type { ChatId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Viewer } from "../domain/scope.ts";
import { isoTime } from "../kit/clock.ts";
import { userSubject } from "../ports/idempotency-store.ts";
import type { ChatQuestion, ChatService } from "../services/chats.ts";
import { askedAt, checkAsks } from "./drafts.ts";
import { pathId } from "./ids.ts";
import {
  type Answer,
  type Call,
  changing,
  EventBody,
  NO_CONTENT,
  type Operation,
  reading,
  type WrittenAnswer,
  writing,
} from "./operation.ts";
import * as schema from "./schema/chats.ts";
import { NoQuery } from "./schema/fields.ts";
import type { SearchResult } from "./schema/memories.ts";
import { filterOf } from "./search.ts";
import type { SseEvent } from "./sse.ts";
import { listView, type View } from "./views.ts";

const MESSAGE_FAULTS = [
  "chat_not_found",
  "invalid_filter",
  "query_quota_exceeded",
  "model_unavailable",
  "llm_error",
  "llm_timeout",
] as const;

/** The operations on /v1/chats. */
export function chatOperations(chats: ChatService): readonly Operation[] {
  return [
    changing({
      name: "createChat",
      group: "Chats",
      summary:
        "Create a chat. Its messages search the memories of its user, agent and session; without them, the whole project.",
      method: "POST",
      path: "/v1/chats",
      scope: "chats:write",
      query: NoQuery,
      body: schema.CreateChat,
      isBodyOptional: true,
      answers: { 201: schema.Chat },
      isIdempotent: true,
      change: (tx, { principal, body }) => chats.create(tx, principal, body),
      answer: (chat) => ({ status: 201, body: chatView(chat) }),
    }),

    reading({
      name: "listChats",
      group: "Chats",
      summary: "List chats, newest first.",
      method: "GET",
      path: "/v1/chats",
      scope: "chats:read",
      query: schema.ListChats,
      answers: { 200: schema.ChatList },
      faults: ["invalid_cursor"],
      read: async ({ principal, query }) => {
        const page = await chats.list(principal, { limit: LIMITS.pageItemsDefault, ...query });
        return { status: 200, body: listView(page, chatView) };
      },
    }),

    reading({
      name: "getChatHistory",
      group: "Chats",
      summary: "Read a chat with all its messages, oldest first.",
      method: "GET",
      path: "/v1/chats/:id",
      scope: "chats:read",
      query: NoQuery,
      answers: { 200: schema.ChatHistory },
      faults: ["chat_not_found"],
      read: async ({ principal, params }) => {
        const { chat, messages } = await chats.history(principal, chatId(params.id));
        return { status: 200, body: { ...chatView(chat), messages: messages.map(messageView) } };
      },
    }),

    changing({
      name: "updateChat",
      group: "Chats",
      summary: "Change the title of a chat.",
      method: "PUT",
      path: "/v1/chats/:id",
      scope: "chats:write",
      query: NoQuery,
      body: schema.UpdateChat,
      answers: { 200: schema.Chat },
      faults: ["chat_not_found"],
      prepare: ({ params }) => chatId(params.id),
      change: (tx, { principal, body }, id) => chats.retitle(tx, principal, id, body.title),
      answer: (chat) => ({ status: 200, body: chatView(chat) }),
    }),

    changing({
      name: "deleteChat",
      group: "Chats",
      summary: "Delete a chat and its messages permanently.",
      method: "DELETE",
      path: "/v1/chats/:id",
      scope: "chats:write",
      query: NoQuery,
      answers: { 204: null },
      faults: ["chat_not_found"],
      prepare: ({ params }) => chatId(params.id),
      change: (tx, { principal }, id) => chats.remove(tx, principal, id),
      answer: () => NO_CONTENT,
    }),

    reading({
      name: "listMessages",
      group: "Chats",
      summary: "Read a chat's messages page by page, oldest first.",
      method: "GET",
      path: "/v1/chats/:id/messages",
      scope: "chats:read",
      query: schema.ListMessages,
      answers: { 200: schema.MessageList },
      faults: ["chat_not_found", "invalid_cursor"],
      read: async ({ principal, params, query }) => {
        const listing = { limit: LIMITS.messagesPageDefault, ...query };
        const page = await chats.messages(principal, chatId(params.id), listing);
        return { status: 200, body: listView(page, messageView) };
      },
    }),

    writing({
      name: "sendMessage",
      group: "Chats",
      summary: "Send a message to a chat and wait for the complete answer.",
      method: "POST",
      path: "/v1/chats/:id/messages",
      scope: "chats:write",
      query: NoQuery,
      body: schema.SendMessage,
      answers: { 200: schema.MessageResponse },
      faults: MESSAGE_FAULTS,
      isIdempotent: true,
      write: (call) => writeMessage(chats, call),
      replay: async ({ body }, { principal, params }) =>
        messageAnswer((await storedMessage(chats, principal, params.id, body)).message),
    }),

    writing({
      name: "streamMessage",
      group: "Chats",
      summary: "Send a message to a chat and receive the answer as a stream.",
      method: "POST",
      path: "/v1/chats/:id/messages/stream",
      scope: "chats:write",
      query: NoQuery,
      body: schema.SendMessage,
      answers: { 200: schema.MessageResponse },
      streams: "always",
      faults: MESSAGE_FAULTS,
      isIdempotent: true,
      write: (call) => writeMessage(chats, call),
      replay: async ({ status, body }, { principal, params }) => {
        const stored = await storedMessage(chats, principal, params.id, body);
        return { status, body: new EventBody(replayedEvents(stored)) };
      },
    }),
  ];
}

async function writeMessage(
  chats: ChatService,
  call: Call<unknown, Static<typeof schema.SendMessage>>,
): Promise<WrittenAnswer> {
  const { principal, params, body } = call;
  const chat = await chats.get(principal, chatId(params.id));
  const run = await chats.send(principal, chat.id, questionOf(body), call);
  let message: Message | null = null;
  return {
    events: textEvents(run.events),
    store: async (tx) => {
      message = await run.store(tx);
      return rememberedAnswer(chat, message, run.tokensUsed());
    },
    lastEvents: () => (message === null ? [] : lastEvents({ message, tokensUsed: run.tokensUsed() })),
    release: run.release,
  };
}

function questionOf(body: Static<typeof schema.SendMessage>): ChatQuestion {
  checkAsks(body.message, "message", "write a message");
  return {
    text: body.message,
    mode: body.mode ?? null,
    maxSources: body.maxSources ?? LIMITS.sourcesDefault,
    filter: filterOf(body.filters),
    instructions: body.instructions ?? null,
    ...askedAt(body),
  };
}

function messageAnswer(message: Message): Answer {
  return { status: 200, body: { message: messageView(message) } };
}

async function* textEvents(fragments: AsyncIterable<string>): AsyncGenerator<SseEvent> {
  for await (const content of fragments) yield { name: "text", data: { content } };
}

function* lastEvents({ message, tokensUsed }: StoredMessage): Generator<SseEvent> {
  yield { name: "sources", data: message.sources.map((source) => source.shown) };
  yield {
    name: "usage",
    data: { tokens_used: tokensUsed, ...(message.answerState !== null && { answer_state: message.answerState }) },
  };
}

/** The text of a stored answer as a single event, then the last events. */
async function* replayedEvents(stored: StoredMessage): AsyncGenerator<SseEvent> {
  yield { name: "text", data: { content: stored.message.content } };
  yield* lastEvents(stored);
}

interface StoredMessage {
  readonly message: Message;
  readonly tokensUsed: number;
}

// Only the message's id and its token count are stored for a repetition. A repeated request reads the message again, so
// that sources that have been deleted are left out. The stored answer is deleted with the chat or its user.
function rememberedAnswer(chat: Chat, message: Message, tokensUsed: number): Answer {
  const subjects = chat.userId === null ? [chat.id] : [chat.id, userSubject(chat.userId)];
  return { ...messageAnswer(message), remembered: { id: message.id, tokensUsed }, subjects };
}

async function storedMessage(
  chats: ChatService,
  viewer: Viewer,
  chat: string | undefined,
  remembered: unknown,
): Promise<StoredMessage> {
  const { id, tokensUsed } = remembered as Pick<Message, "id"> & Pick<StoredMessage, "tokensUsed">;
  return { message: await chats.message(viewer, chatId(chat), id), tokensUsed };
}

function chatId(text: string | undefined): ChatId {
  return pathId("chat", text, "chat_not_found");
}

/** Converts a chat to the schema `Chat`. */
function chatView(chat: Chat): View<typeof schema.Chat> {
  const { createdAt, ...shown } = chat;
  return { ...shown, created_at: isoTime(createdAt) };
}

/** Converts a message of a chat to the schema `Message`. */
function messageView(message: Message): View<typeof schema.Message> {
  return {
    id: message.id,
    role: message.role,
    content: message.content,
    sources: message.sources.map(({ shown }) => shown as View<typeof SearchResult>), // stored as `sourceView` made it
    answer_state: message.answerState,
    created_at: isoTime(message.createdAt),
    ...(message.isInterrupted ? { interrupted: true } : {}),
    ...(message.failure === null ? {} : { failure: message.failure }),
  };
}
