// The operations on /v1/chats.

import type { Chat, Message } from "../domain/chat.ts";
import { invariant } from "../domain/fault.ts";
import type { ChatId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Viewer } from "../domain/scope.ts";
import { userSubject } from "../ports/idempotency-store.ts";
import type { ChatQuestion, ChatService, MessageEvent } from "../services/chats.ts";
import { checkNotBlank, checkTime } from "./drafts.ts";
import { pathId } from "./ids.ts";
import { type Answer, type Operation, operation } from "./operation.ts";
import * as schema from "./schema/chats.ts";
import { NoQuery } from "./schema/fields.ts";
import { filterOf } from "./search.ts";
import type { SseEvent } from "./sse.ts";
import { chatView, listView, messageView } from "./views.ts";

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
    operation({
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
      run: async ({ principal, body, commit }) =>
        commit(async (tx) => ({ status: 201, body: chatView(await chats.create(tx, principal, body)) })),
    }),

    operation({
      name: "listChats",
      group: "Chats",
      summary: "List chats, newest first.",
      method: "GET",
      path: "/v1/chats",
      scope: "chats:read",
      query: schema.ListChats,
      answers: { 200: schema.ChatList },
      faults: ["invalid_cursor"],
      run: async ({ principal, query }) => {
        const page = await chats.list(principal, { limit: LIMITS.pageItemsDefault, ...query });
        return { status: 200, body: listView(page, chatView) };
      },
    }),

    operation({
      name: "getChatHistory",
      group: "Chats",
      summary: "Read a chat with all its messages, oldest first.",
      method: "GET",
      path: "/v1/chats/:id",
      scope: "chats:read",
      query: NoQuery,
      answers: { 200: schema.ChatHistory },
      faults: ["chat_not_found"],
      run: async ({ principal, params }) => {
        const { chat, messages } = await chats.history(principal, chatId(params.id));
        return { status: 200, body: { ...chatView(chat), messages: messages.map(messageView) } };
      },
    }),

    operation({
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
      run: async ({ principal, params, body, commit }) => {
        const id = chatId(params.id);
        return commit(async (tx) => ({
          status: 200,
          body: chatView(await chats.retitle(tx, principal, id, body.title)),
        }));
      },
    }),

    operation({
      name: "deleteChat",
      group: "Chats",
      summary: "Delete a chat and its messages permanently.",
      method: "DELETE",
      path: "/v1/chats/:id",
      scope: "chats:write",
      query: NoQuery,
      answers: { 204: null },
      faults: ["chat_not_found"],
      run: async ({ principal, params, commit }) => {
        const id = chatId(params.id);
        return commit(async (tx) => {
          await chats.remove(tx, principal, id);
          return { status: 204, body: null };
        });
      },
    }),

    operation({
      name: "listMessages",
      group: "Chats",
      summary: "Read a chat's messages page by page, oldest first.",
      method: "GET",
      path: "/v1/chats/:id/messages",
      scope: "chats:read",
      query: schema.ListMessages,
      answers: { 200: schema.MessageList },
      faults: ["chat_not_found", "invalid_cursor"],
      run: async ({ principal, params, query }) => {
        const listing = { limit: LIMITS.messagesPageDefault, ...query };
        const page = await chats.messages(principal, chatId(params.id), listing);
        return { status: 200, body: listView(page, messageView) };
      },
    }),

    operation({
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
      run: async ({ principal, params, body, commit, signal, confirm }) => {
        const chat = await chats.get(principal, chatId(params.id));
        const events = await chats.send(principal, chat.id, questionOf(body), {
          signal,
          confirm,
          commitAnswer: async (store, tokensUsed) => {
            await commit(async (tx) => rememberedAnswer(chat, await store(tx), tokensUsed));
          },
        });
        for await (const event of events) if (event.type === "message") return messageAnswer(event.message);
        invariant(false, "an answer ends with its message");
      },
      replay: async ({ body }, { principal, params }) =>
        messageAnswer((await storedMessage(chats, principal, params.id, body)).message),
    }),

    operation({
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
      run: async ({ principal, params, body, commit, stream, signal, confirm }) => {
        const chat = await chats.get(principal, chatId(params.id));
        const events = await chats.send(principal, chat.id, questionOf(body), {
          signal,
          confirm,
          commitAnswer: async (store, tokensUsed) => {
            await commit(async (tx) => rememberedAnswer(chat, await store(tx), tokensUsed));
          },
        });
        return stream(messageEvents(events), async () => {
          await events.return(undefined);
        });
      },
      // Sends the text of the stored answer as a single event.
      replay: async ({ body }, { principal, params, stream }) =>
        stream(replayedEvents(await storedMessage(chats, principal, params.id, body)), () => undefined),
    }),
  ];
}

function questionOf(body: {
  readonly message: string;
  readonly mode?: ChatQuestion["mode"] | null;
  readonly maxSources?: number | null;
  readonly filters?: unknown;
  readonly instructions?: string | null;
  readonly asOf?: string | null;
}): ChatQuestion {
  checkNotBlank(body.message, "message", "write a message");
  return {
    text: body.message,
    mode: body.mode ?? null,
    maxSources: body.maxSources ?? LIMITS.sourcesDefault,
    filter: filterOf(body.filters),
    instructions: body.instructions ?? null,
    ...(body.asOf != null && { asOf: checkTime(body.asOf, "asOf") }),
  };
}

function messageAnswer(message: Message): Answer {
  return { status: 200, body: { message: messageView(message) } };
}

async function* messageEvents(events: AsyncIterable<MessageEvent>): AsyncGenerator<SseEvent> {
  for await (const event of events) {
    if (event.type === "text") {
      yield { name: "text", data: { content: event.content } };
    } else {
      yield { name: "sources", data: event.message.sources.map((source) => source.shown) };
      yield { name: "usage", data: { tokens_used: event.tokensUsed } };
    }
  }
}

async function* replayedEvents({ message, tokensUsed }: StoredMessage): AsyncGenerator<SseEvent> {
  yield { name: "text", data: { content: message.content } };
  yield { name: "sources", data: message.sources.map((source) => source.shown) };
  yield { name: "usage", data: { tokens_used: tokensUsed } };
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
