// Chats: conversations whose questions are answered from memories.

import {
  type Chat,
  type ChatHistory,
  createChat,
  deleteChat,
  getChatHistory,
  listChats,
  listMessages,
  type Message,
  type StreamMessageErrors,
  type StreamMessageResponses,
  sendMessage,
  updateChat,
} from "../core/index.ts";
import { List } from "../list.ts";
import { AnswerStream } from "../streams.ts";
import type { CallOptions, Transport, WriteOptions } from "../transport.ts";
import type { ChatListParams, MessageParams, NewChat } from "../types.ts";

/** The operations on chats. */
export class Chats {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates a chat. Its messages search the memories of its user, agent and session. */
  create(chat: NewChat = {}, options?: WriteOptions): Promise<Chat> {
    return this.#transport.call((core) => createChat({ ...core, body: chat }), "keyed", options);
  }

  /** Lists chats, newest first. */
  list(params: ChatListParams = {}, options?: CallOptions): List<Chat> {
    return new List((cursor) =>
      this.#transport.call(
        (core) => listChats({ ...core, query: { ...params, ...(cursor !== undefined && { cursor }) } }),
        "always",
        options,
      ),
    );
  }

  /** Reads a chat with all its messages, oldest first. */
  get(id: string, options?: CallOptions): Promise<ChatHistory> {
    return this.#transport.call((core) => getChatHistory({ ...core, path: { id } }), "always", options);
  }

  /** Changes the title of a chat; null removes it. */
  update(id: string, change: { readonly title: string | null }, options?: CallOptions): Promise<Chat> {
    return this.#transport.call((core) => updateChat({ ...core, path: { id }, body: change }), "always", options);
  }

  /** Deletes a chat and its messages permanently. */
  delete(id: string, options?: CallOptions): Promise<void> {
    return this.#transport.remove((core) => deleteChat({ ...core, path: { id } }), options);
  }

  /** Lists the messages of a chat, oldest first. */
  messages(id: string, params: { readonly limit?: number } = {}, options?: CallOptions): List<Message> {
    return new List((cursor) =>
      this.#transport.call(
        (core) =>
          listMessages({ ...core, path: { id }, query: { ...params, ...(cursor !== undefined && { cursor }) } }),
        "always",
        options,
      ),
    );
  }

  /** Sends a message and waits for the complete answer. */
  async send(id: string, message: string, params: MessageParams = {}, options?: WriteOptions): Promise<Message> {
    const body = { ...params, message };
    const send = () => this.#transport.call((core) => sendMessage({ ...core, path: { id }, body }), "keyed", options);
    return (await send()).message;
  }

  /** Sends a message and receives the answer as a stream of events. */
  async stream(id: string, message: string, params: MessageParams = {}, options?: WriteOptions): Promise<AnswerStream> {
    const body = { ...params, message };
    const opened = await this.#transport.stream(
      // The core's own function for streams connects again by itself, which would send the message twice.
      ({ client, ...core }) =>
        client.post<StreamMessageResponses, StreamMessageErrors>({
          ...core,
          security: [{ scheme: "bearer", type: "http" }],
          url: "/chats/{id}/messages/stream",
          path: { id },
          body,
          headers: { "Content-Type": "application/json", ...core.headers },
        }),
      "keyed",
      options,
    );
    return new AnswerStream(opened);
  }
}
