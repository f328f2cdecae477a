// Requests and answers of /v1/chats.

import { Type } from "@sinclair/typebox";
import { ANSWER_STATES } from "../../domain/answer-state.ts";
import { LIMITS } from "../../domain/limits.ts";
import { Text } from "../check.ts";
import { scopeFields, scopeParameters, shownScope } from "./attributes.ts";
import {
  AskedTimeZone,
  AsOf,
  Body,
  Filters,
  Instructions,
  ListOf,
  MaxSources,
  Mode,
  Nullable,
  OneOf,
  Optional,
  paging,
  Query,
  Time,
} from "./fields.ts";
import { SearchResult } from "./memories.ts";

const Title = Text({ minLength: 1, maxLength: LIMITS.titleCharacters });

/** Body of createChat. */
export const CreateChat = Body({
  ...scopeFields,
  title: Optional(Title),
});
/** Body of updateChat; null clears the title. */
export const UpdateChat = Body({ title: Nullable(Title) });
/** Query parameters of listChats. */
export const ListChats = Query({ ...paging, ...scopeParameters });
/** Query parameters of listMessages. */
export const ListMessages = Query({
  limit: Type.Integer({ minimum: 1, maximum: LIMITS.messagesPage, default: LIMITS.messagesPageDefault }),
  cursor: paging.cursor,
});
/** Body of sendMessage and streamMessage. */
export const SendMessage = Body({
  message: Text({ minLength: 1, maxLength: LIMITS.messageCharacters }),
  mode: Optional(Mode),
  instructions: Optional(Instructions),
  maxSources: Optional(MaxSources),
  asOf: Optional(AsOf),
  time_zone: Optional(AskedTimeZone),
  filters: Type.Optional(Filters),
});

/** A chat without its messages. */
export const Chat = Type.Object(
  {
    id: Text({ description: "chat_…" }),
    ...shownScope,
    title: Nullable(Text()),
    created_at: Time,
  },
  { $id: "Chat" },
);
/** One page of chats, newest first. */
export const ChatList = ListOf("ChatList", Chat);

/** One message of a chat. */
export const Message = Type.Object(
  {
    id: Text({ description: "msg_…" }),
    role: OneOf(["user", "assistant"]),
    content: Text(),
    sources: Type.Array(SearchResult),
    answer_state: Type.Optional(
      Nullable(
        OneOf(ANSWER_STATES, "as in answers to queries; null for the user's messages, interrupted and older ones"),
      ),
    ),
    created_at: Time,
    interrupted: Type.Optional(Type.Boolean({ description: "the caller hung up before the answer was complete" })),
    failure: Type.Optional(Text({ description: "why this message of the user got no answer" })),
  },
  { $id: "Message" },
);
/** One page of messages, oldest first. */
export const MessageList = ListOf("MessageList", Message);
/** Answer of sendMessage. */
export const MessageResponse = Type.Object({ message: Message }, { $id: "MessageResponse" });
/** A chat with all its messages, oldest first. */
export const ChatHistory = Type.Object(
  {
    id: Text(),
    ...shownScope,
    title: Nullable(Text()),
    created_at: Time,
    messages: Type.Array(Message),
  },
  { $id: "ChatHistory" },
);
