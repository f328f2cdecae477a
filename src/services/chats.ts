// Conversations: chats, and messages that are answered one after the other. A chat's messages search what its user owns, or
// the whole project if it has none.

import type { QueryQuota } from "../account/query-quota.ts";
import { type AnswerEvent, type CitedPassage, citedFirst } from "../answer/events.ts";
import type { Chat, Message, MessageSource } from "../domain/chat.ts";
import { Fault, invariant } from "../domain/fault.ts";
import type { ChatId, MessageId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { JsonObject } from "../domain/memory.ts";
import type { Page } from "../domain/page.ts";
import type { RankedPassage } from "../domain/ranking.ts";
import { userOf, type Viewer } from "../domain/scope.ts";
import { shortened } from "../kit/shortened.ts";
import type { ChatStore } from "../ports/chat-store.ts";
import type { IdempotencyStore } from "../ports/idempotency-store.ts";
import type { LlmUsage } from "../ports/language-model.ts";
import type { Transactions } from "../ports/transactions.ts";
import type { Listing } from "../ports/user-store.ts";
import type { AnswerService, Question } from "./answers.ts";

/** What the service stands on. */
export interface ChatServiceParts {
  readonly chats: ChatStore;
  readonly answers: Pick<AnswerService, "answer" | "check">;
  readonly quota: QueryQuota;
  readonly idempotency: Pick<IdempotencyStore, "forget">;
  readonly transactions: Transactions;
  /** How a source is kept beside its message. */
  readonly describeSource: (source: CitedPassage) => JsonObject;
}

/** A question to a chat; its scope is the chat's. */
export type ChatQuestion = Omit<Question, "userId" | "includeGraph" | "model">;

/** What a message under way gives: fragments of the answer, then the stored message as it can be shown. */
export type MessageEvent =
  | { readonly type: "text"; readonly content: string }
  | { readonly type: "message"; readonly message: Message; readonly tokensUsed: number };

/** Runs the storing of a whole answer, which gives the stored message, in its transaction; the answer took `tokensUsed`. */
type Keep = (store: () => Message, tokensUsed: number) => void;

/** Chats of one project. What changes something is synchronous, but for messages. */
export class ChatService {
  readonly #parts: ChatServiceParts;
  readonly #turns = new Map<ChatId, Turns>();

  constructor(parts: ChatServiceParts) {
    this.#parts = parts;
  }

  /** @throws Fault `insufficient_scope` for another user than a confined key's. */
  create(viewer: Viewer, draft: { readonly userId?: string | null; readonly title?: string | null }): Chat {
    const userId = userOf(viewer, draft.userId) ?? null;
    return this.#parts.chats.create(viewer.projectId, { userId, title: draft.title ?? null });
  }

  /** @throws Fault `chat_not_found` */
  get(viewer: Viewer, id: ChatId): Chat {
    const chat = this.#parts.chats.get(viewer.projectId, id);
    if (chat === null || (viewer.userId !== null && chat.userId !== viewer.userId)) throw unknownChat(id);
    return chat;
  }

  /** @throws Fault `invalid_cursor`, `insufficient_scope` */
  list(viewer: Viewer, listing: Listing & { readonly userId?: string }): Page<Chat> {
    const { userId: named, ...rest } = listing;
    const userId = userOf(viewer, named);
    return this.#parts.chats.list(viewer.projectId, { ...rest, ...(userId !== undefined && { userId }) });
  }

  /** @throws Fault `chat_not_found` */
  retitle(viewer: Viewer, id: ChatId, title: string | null): Chat {
    this.get(viewer, id);
    const chat = this.#parts.chats.retitle(viewer.projectId, id, title);
    invariant(chat, "a chat that was just read can be renamed in the same transaction");
    return chat;
  }

  /** @throws Fault `chat_not_found` */
  remove(viewer: Viewer, id: ChatId): void {
    this.get(viewer, id);
    this.#parts.chats.remove(viewer.projectId, id);
    this.#parts.idempotency.forget(viewer.projectId, [id]);
  }

  /** A chat with all its messages, oldest first. @throws Fault `chat_not_found` */
  history(viewer: Viewer, id: ChatId): { readonly chat: Chat; readonly messages: readonly Message[] } {
    const chat = this.get(viewer, id);
    return { chat, messages: this.#parts.chats.history(viewer.projectId, id) };
  }

  /** One message as it is now. @throws Fault `chat_not_found`, also for an unknown message */
  message(viewer: Viewer, id: ChatId, messageId: MessageId): Message {
    this.get(viewer, id);
    const message = this.#parts.chats.message(viewer.projectId, id, messageId);
    if (message === null) throw unknownChat(id);
    return message;
  }

  /** @throws Fault `chat_not_found`, `invalid_cursor` */
  messages(viewer: Viewer, id: ChatId, listing: Listing): Page<Message> {
    this.get(viewer, id);
    return this.#parts.chats.messages(viewer.projectId, id, listing);
  }

  /**
   * Refuses what can be refused before work, and takes the message's place in line and in the month's quota.
   * @returns the answer's events. They begin when the messages before it are answered; the user's message is stored first, the
   *   assistant's when it is whole, or as far as it came when the caller hangs up.
   * @throws Fault `chat_not_found`, `query_quota_exceeded`, `overloaded`, `invalid_request`
   */
  send(
    viewer: Viewer,
    id: ChatId,
    question: ChatQuestion,
    parts: {
      readonly signal: AbortSignal;
      readonly keep: Keep;
    },
  ): AsyncGenerator<MessageEvent> {
    this.get(viewer, id);
    this.#parts.answers.check(viewer, { ...question, model: null });
    const turns = this.#turns.get(id) ?? { waiting: 0, last: Promise.resolve() };
    if (turns.waiting > LIMITS.messagesWaitingPerChat) {
      throw new Fault("overloaded", "Too many messages wait in this chat. Send the next one when they are answered.", {
        retryAfterSeconds: 1,
      });
    }
    const place = this.#parts.quota.take(viewer.projectId);
    this.#turns.set(id, turns);
    turns.waiting += 1;
    const before = turns.last;
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    turns.last = ended;
    const finish = () => {
      turns.waiting -= 1;
      if (turns.waiting === 0) this.#turns.delete(id);
      place.release();
      void before.then(end); // whoever gave up in line leaves the line as it was
    };
    const answer = this.#answer(viewer, id, question, parts, (tokens) => place.count(tokens));
    return inTurn(before, answer, finish);
  }

  async *#answer(
    viewer: Viewer,
    id: ChatId,
    question: ChatQuestion,
    { signal, keep }: { readonly signal: AbortSignal; readonly keep: Keep },
    count: (tokens: LlmUsage) => void,
  ): AsyncGenerator<MessageEvent> {
    const { chats, answers, transactions } = this.#parts;
    signal.throwIfAborted(); // whoever hung up in line has asked nothing
    const chat = this.get(viewer, id);
    const history = chats.turns(viewer.projectId, id, LIMITS.chatTurns);
    const asked = { role: "user", content: question.text, sources: [], isInterrupted: false } as const;
    if (chats.append(viewer.projectId, id, asked) === null) throw unknownChat(id);

    const said = new Said();
    const scope = { includeGraph: false, model: null, ...(chat.userId !== null && { userId: chat.userId }) };
    const run = answers.answer(viewer, { ...question, ...scope }, signal, history);
    const store = (isInterrupted: boolean): Message => {
      const message = chats.append(viewer.projectId, id, {
        role: "assistant",
        content: said.text,
        sources: said.sourcesAmong(run.context(), question.maxSources).map((source) => this.#sourceOf(source)),
        isInterrupted,
      });
      if (message === null) throw unknownChat(id); // removed while it was being answered
      count(run.tokens());
      return message;
    };
    let end: "hung up" | "whole" | "failed" = "hung up";
    try {
      for await (const event of run.events) {
        said.hear(event);
        if (event.type === "text") yield { type: "text", content: event.content };
      }
      let message: Message | null = null;
      keep(() => {
        message = store(false);
        return message;
      }, said.tokensUsed);
      end = "whole";
      invariant(message !== null, "what was kept was stored");
      yield { type: "message", message, tokensUsed: said.tokensUsed };
    } catch (error) {
      if (!signal.aborted) end = "failed";
      throw error;
    } finally {
      // whoever hung up finds what was said so far; what failed is no answer
      if (end === "hung up" && said.text !== "" && chats.get(viewer.projectId, id) !== null) {
        transactions.atomically(() => store(true));
      }
    }
  }

  #sourceOf(source: CitedPassage): MessageSource {
    return { memoryKey: source.passage.memory.key, shown: this.#parts.describeSource(source) };
  }
}

/** Messages of one chat: how many are under way or wait, and when the last of them has ended. */
interface Turns {
  waiting: number;
  last: Promise<void>;
}

/** What an answer has said so far, and what that stands on. */
class Said {
  text = "";
  tokensUsed = 0;
  #cited: readonly RankedPassage[] = [];
  #sources: readonly CitedPassage[] | null = null;

  hear(event: AnswerEvent): void {
    switch (event.type) {
      case "text":
        this.text += event.content;
        this.#cited = [...this.#cited, ...(event.cites ?? [])];
        break;
      case "sources":
        this.#sources = event.sources;
        break;
      case "usage":
        this.tokensUsed = event.tokensUsed;
    }
  }

  /** What it stands on: as it said, or, where it was interrupted before, what it cites and then what else it had before it. */
  sourcesAmong(context: readonly RankedPassage[], maxSources: number): readonly CitedPassage[] {
    return this.#sources ?? citedFirst(this.#cited, context, maxSources);
  }
}

// `finish` is called once, however this ends: also when nobody ever asks for the first event.
function inTurn(
  before: Promise<void>,
  answer: AsyncGenerator<MessageEvent>,
  finish: () => void,
): AsyncGenerator<MessageEvent> {
  let isFinished = false;
  const finishOnce = () => {
    if (!isFinished) finish();
    isFinished = true;
  };
  const next: AsyncGenerator<MessageEvent>["next"] = async () => {
    try {
      await before;
      const step = await answer.next();
      if (step.done) finishOnce();
      return step;
    } catch (error) {
      finishOnce();
      throw error;
    }
  };
  const events: AsyncGenerator<MessageEvent> = {
    next,
    return: async (value) => {
      try {
        return await answer.return(value);
      } finally {
        finishOnce();
      }
    },
    throw: async (error) => {
      try {
        return await answer.throw(error);
      } finally {
        finishOnce();
      }
    },
    [Symbol.asyncIterator]: () => events,
    [Symbol.asyncDispose]: async () => {
      await events.return(undefined);
    },
  };
  return events;
}

function unknownChat(id: string): Fault {
  return new Fault("chat_not_found", `There is no chat '${shortened(id)}' in this project.`, { param: "id" });
}
