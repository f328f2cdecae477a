// Chats and their messages, which are answered one after the other. A chat searches the memories of its user, agent and
// session; of the whole project if it has none of them.

import { type AnswerEvent, type CitedPassage, citedFirst } from "../answer/events.ts";
import type { Chat, ChatConditions, ChatDraft, Message, MessageSource } from "../domain/chat.ts";
import { Fault, invariant } from "../domain/fault.ts";
import type { ChatId, MessageId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { JsonObject } from "../domain/memory.ts";
import type { Page } from "../domain/page.ts";
import type { RankedPassage } from "../domain/ranking.ts";
import { userOf, type Viewer } from "../domain/scope.ts";
import { shortened } from "../kit/shortened.ts";
import type { ChatStore } from "../ports/chat-store.ts";
import type { QuotaReservation } from "../ports/coordination.ts";
import type { Transaction, Transactions } from "../ports/transactions.ts";
import type { Listing } from "../ports/user-store.ts";
import type { AnswerService, Question } from "./answers.ts";
import type { Asker } from "./search.ts";

/** What the service needs. */
export interface ChatServiceParts {
  readonly chats: ChatStore;
  readonly answers: Pick<AnswerService, "answer" | "check" | "reserveQuery">;
  readonly transactions: Transactions;
  /** Makes the JSON of a source that is stored with its message. */
  readonly describeSource: (source: CitedPassage) => JsonObject;
}

/** A question to a chat. Its user, agent and session are those of the chat. */
export type ChatQuestion = Omit<Question, "userId" | "agentId" | "sessionId" | "includeGraph" | "model">;

/** Events of a message that is being answered: fragments of the answer, then the stored message. */
export type MessageEvent =
  | { readonly type: "text"; readonly content: string }
  | { readonly type: "message"; readonly message: Message; readonly tokensUsed: number };

/**
 * Runs `store` in a transaction of the caller, who can store more in the same transaction. `store` stores the complete
 * answer and returns its message; `tokensUsed` is the number of tokens that the answer used.
 */
type CommitAnswer = (store: (transaction: Transaction) => Promise<Message>, tokensUsed: number) => Promise<void>;

/** Chats of one project. */
export class ChatService {
  readonly #parts: ChatServiceParts;
  readonly #queues = new Map<ChatId, MessageQueue>();

  constructor(parts: ChatServiceParts) {
    this.#parts = parts;
  }

  /** @throws Fault `insufficient_scope` if a confined key names another user */
  async create(
    { chats }: Transaction,
    viewer: Viewer,
    { userId: named, agentId = null, sessionId = null, title = null }: Partial<ChatDraft>,
  ): Promise<Chat> {
    const userId = userOf(viewer, named) ?? null;
    return chats.create(viewer.projectId, { userId, agentId, sessionId, title });
  }

  /** @throws Fault `chat_not_found` */
  get(viewer: Viewer, id: ChatId): Promise<Chat> {
    return visibleChat(this.#parts.chats, viewer, id);
  }

  /** @throws Fault `invalid_cursor`; `insufficient_scope` if a confined key names another user */
  async list(viewer: Viewer, listing: Listing & ChatConditions): Promise<Page<Chat>> {
    const { userId: named, ...rest } = listing;
    const userId = userOf(viewer, named);
    return this.#parts.chats.list(viewer.projectId, { ...rest, ...(userId !== undefined && { userId }) });
  }

  /** @throws Fault `chat_not_found` */
  async retitle({ chats }: Transaction, viewer: Viewer, id: ChatId, title: string | null): Promise<Chat> {
    await visibleChat(chats, viewer, id);
    const chat = await chats.retitle(viewer.projectId, id, title);
    invariant(chat, "a chat that was just read can be renamed in the same transaction");
    return chat;
  }

  /** @throws Fault `chat_not_found` */
  async remove({ chats, idempotency }: Transaction, viewer: Viewer, id: ChatId): Promise<void> {
    await visibleChat(chats, viewer, id);
    await chats.remove(viewer.projectId, id);
    await idempotency.forget(viewer.projectId, [id]);
  }

  /** A chat with all its messages, oldest first. @throws Fault `chat_not_found` */
  async history(viewer: Viewer, id: ChatId): Promise<{ readonly chat: Chat; readonly messages: readonly Message[] }> {
    const chat = await this.get(viewer, id);
    return { chat, messages: await this.#parts.chats.history(viewer.projectId, id) };
  }

  /** One message as it is now. @throws Fault `chat_not_found`, also for an unknown message */
  async message(viewer: Viewer, id: ChatId, messageId: MessageId): Promise<Message> {
    await this.get(viewer, id);
    const message = await this.#parts.chats.message(viewer.projectId, id, messageId);
    if (message === null) throw unknownChat(id);
    return message;
  }

  /** @throws Fault `chat_not_found`, `invalid_cursor` */
  async messages(viewer: Viewer, id: ChatId, listing: Listing): Promise<Page<Message>> {
    await this.get(viewer, id);
    return this.#parts.chats.messages(viewer.projectId, id, listing);
  }

  /**
   * Validates the question, joins the chat's queue and reserves a query in the monthly quota. The events begin when the
   * messages before this one in the queue are answered. The user's message is stored first. The assistant's message is
   * stored when it is complete. If the caller disconnects, the text written so far is stored.
   * @throws Fault `chat_not_found`; `query_quota_exceeded`; `overloaded` if too many messages wait in this chat;
   *   `invalid_request` for instructions that leave no room for sources
   */
  async send(
    viewer: Viewer,
    id: ChatId,
    question: ChatQuestion,
    terms: Asker & { readonly commitAnswer: CommitAnswer },
  ): Promise<AsyncGenerator<MessageEvent>> {
    await this.get(viewer, id);
    await this.#parts.answers.check(viewer, { ...question, model: null });
    const queue = this.#queues.get(id) ?? { waiting: 0, last: Promise.resolve() };
    if (queue.waiting > LIMITS.messagesWaitingPerChat) {
      throw new Fault("overloaded", "Too many messages wait in this chat. Send the next one when they are answered.", {
        retryAfterSeconds: 1,
      });
    }
    this.#queues.set(id, queue);
    queue.waiting += 1;
    const before = queue.last;
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    queue.last = ended;
    const leaveQueue = () => {
      queue.waiting -= 1;
      if (queue.waiting === 0) this.#queues.delete(id);
      // A message that leaves the queue early must not let the next one start before the previous one has ended.
      void before.then(end);
    };
    try {
      const reservation = await this.#parts.answers.reserveQuery(viewer);
      const answer = this.#answer(viewer, id, question, { ...terms, reservation });
      return inTurn(before, answer, () => {
        leaveQueue();
        reservation.release();
      });
    } catch (error) {
      leaveQueue();
      throw error;
    }
  }

  async *#answer(
    viewer: Viewer,
    id: ChatId,
    question: ChatQuestion,
    {
      signal,
      confirm,
      commitAnswer,
      reservation,
    }: Asker & { readonly commitAnswer: CommitAnswer; readonly reservation: QuotaReservation },
  ): AsyncGenerator<MessageEvent> {
    const { chats, answers, transactions } = this.#parts;
    const { projectId } = viewer;
    signal.throwIfAborted(); // nothing is stored for a caller who disconnected while waiting in the queue
    const { userId, agentId, sessionId } = await this.get(viewer, id);
    const history = await chats.turns(projectId, id, LIMITS.chatTurns);
    const asked = { role: "user", content: question.text, sources: [], isInterrupted: false } as const;
    if ((await chats.append(projectId, id, asked)) === null) throw unknownChat(id);

    const partial = new PartialAnswer();
    const scope = {
      ...(userId !== null && { userId }),
      ...(agentId !== null && { agentId }),
      ...(sessionId !== null && { sessionId }),
    };
    const run = await answers.answer(
      viewer,
      { ...question, ...scope, includeGraph: false, model: null },
      { signal, confirm, reservation, history },
    );
    const store = async (transaction: Transaction, isInterrupted: boolean): Promise<Message> => {
      const message = await transaction.chats.append(projectId, id, {
        role: "assistant",
        content: partial.text,
        sources: partial.sourcesAmong(run.context(), question.maxSources).map((source) => this.#sourceOf(source)),
        isInterrupted,
      });
      if (message === null) throw unknownChat(id); // removed while it was being answered
      await run.count(transaction);
      return message;
    };
    let end: "disconnected" | "complete" | "failed" = "disconnected";
    try {
      for await (const event of run.events) {
        partial.add(event);
        if (event.type === "text") yield { type: "text", content: event.content };
      }
      let message: Message | null = null;
      await commitAnswer(async (transaction) => {
        message = await store(transaction, false);
        return message;
      }, partial.tokensUsed);
      end = "complete";
      invariant(message !== null, "commitAnswer stores the message");
      yield { type: "message", message, tokensUsed: partial.tokensUsed };
    } catch (error) {
      if (!signal.aborted) end = "failed";
      throw error;
    } finally {
      // After a disconnect, the text so far is stored. The text of a failed answer is not.
      if (end === "disconnected" && partial.text !== "") {
        await transactions.run(async (transaction) => {
          if ((await transaction.chats.get(projectId, id)) !== null) await store(transaction, true);
        });
      }
    }
  }

  #sourceOf(source: CitedPassage): MessageSource {
    return { memoryKey: source.passage.memory.key, shown: this.#parts.describeSource(source) };
  }
}

async function visibleChat(chats: Pick<ChatStore, "get">, viewer: Viewer, id: ChatId): Promise<Chat> {
  const chat = await chats.get(viewer.projectId, id);
  if (chat === null || (viewer.userId !== null && chat.userId !== viewer.userId)) throw unknownChat(id);
  return chat;
}

/** The queue of messages of one chat. */
interface MessageQueue {
  /** Number of messages that are being answered or are waiting. */
  waiting: number;
  /** Resolves when the last message of the queue has ended. */
  last: Promise<void>;
}

/** The text and sources of an answer so far. */
class PartialAnswer {
  text = "";
  tokensUsed = 0;
  #cited: readonly RankedPassage[] = [];
  #sources: readonly CitedPassage[] | null = null;

  add(event: AnswerEvent): void {
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

  /**
   * The sources of the answer. If the answer was interrupted before it listed them, its sources are the passages cited
   * so far, followed by the other passages of its context.
   */
  sourcesAmong(context: readonly RankedPassage[], maxSources: number): readonly CitedPassage[] {
    return this.#sources ?? citedFirst(this.#cited, context, maxSources);
  }
}

// The events of `answer`, which begin when `before` resolves. Calls `finish` once at the end, also after an error or if
// the caller stops before the first event.
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
