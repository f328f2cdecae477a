// Chats and their messages, which are answered one after the other. A chat searches the memories of its user, agent and
// session; of the whole project if it has none of them.

import { AnswerSoFar, type CitedPassage } from "../answer/events.ts";
import type { Chat, ChatDraft, Message, MessageSource } from "../domain/chat.ts";
import { Fault, invariant } from "../domain/fault.ts";
import type { ChatId, MessageId } from "../domain/ids.ts";
import type { JsonObject } from "../domain/json.ts";
import { LIMITS } from "../domain/limits.ts";
import { type MemoryScope, type ScopeName, scopeOf } from "../domain/memory-attributes.ts";
import type { Page } from "../domain/page.ts";
import { userOf, type Viewer, withinViewer } from "../domain/scope.ts";
import { shortened } from "../kit/shortened.ts";
import type { ChatStore } from "../ports/chat-store.ts";
import type { QuotaReservation } from "../ports/coordination.ts";
import type { Transaction, Transactions } from "../ports/transactions.ts";
import type { Listing } from "../ports/user-store.ts";
import type { AnswerRun, AnswerService, Question } from "./answers.ts";
import type { Asker } from "./search.ts";

/** What the service needs. */
export interface ChatServiceDependencies {
  readonly chats: ChatStore;
  readonly answers: Pick<AnswerService, "answer" | "check" | "reserveQuery">;
  readonly transactions: Transactions;
  /** Makes the JSON of a source that is stored with its message. */
  readonly describeSource: (source: CitedPassage, at: number) => JsonObject;
}

/** A question to a chat. Its user, agent and session are those of the chat. */
export type ChatQuestion = Omit<Question, ScopeName | "includeGraph" | "model">;

/** What is stored for an answer that failed for a reason that is not public. */
const UNKNOWN_FAILURE = "Something went wrong inside the server. Its log says why.";

/** A message that is being answered. */
export interface MessageRun {
  /**
   * Fragments of the answer. They begin when the messages before this one in the chat are answered; then the user's
   * message is stored. If the caller stops before the end, the text so far is stored; if the answer fails, the reason.
   */
  readonly events: AsyncGenerator<string>;
  /** Stores the complete answer, after the last of `events`. */
  readonly store: (transaction: Transaction) => Promise<Message>;
  /** Number of tokens that the complete answer used. */
  readonly tokensUsed: () => number;
  /** Lets the next message of the chat begin. Must be called once, after the end of `events`. */
  readonly release: () => void;
}

/** Chats of one project. */
export class ChatService {
  readonly #uses: ChatServiceDependencies;
  readonly #queues = new Map<ChatId, MessageQueue>();

  constructor(uses: ChatServiceDependencies) {
    this.#uses = uses;
  }

  /** @throws Fault `insufficient_scope` if a confined key names another user */
  async create({ chats }: Transaction, viewer: Viewer, draft: Partial<ChatDraft>): Promise<Chat> {
    const userId = userOf(viewer, draft.userId) ?? null;
    return chats.create(viewer.projectId, { title: null, ...draft, userId });
  }

  /** @throws Fault `chat_not_found` */
  get(viewer: Viewer, id: ChatId): Promise<Chat> {
    return visibleChat(this.#uses.chats, viewer, id);
  }

  /** @throws Fault `invalid_cursor`; `insufficient_scope` if a confined key names another user */
  async list(viewer: Viewer, listing: Listing & MemoryScope): Promise<Page<Chat>> {
    return this.#uses.chats.list(viewer.projectId, withinViewer(viewer, listing));
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
    return { chat, messages: await this.#uses.chats.history(viewer.projectId, id) };
  }

  /** One message as it is now. @throws Fault `chat_not_found`, also for an unknown message */
  async message(viewer: Viewer, id: ChatId, messageId: MessageId): Promise<Message> {
    await this.get(viewer, id);
    const message = await this.#uses.chats.message(viewer.projectId, id, messageId);
    if (message === null) throw unknownChat(id);
    return message;
  }

  /** @throws Fault `chat_not_found`, `invalid_cursor` */
  async messages(viewer: Viewer, id: ChatId, listing: Listing): Promise<Page<Message>> {
    await this.get(viewer, id);
    return this.#uses.chats.messages(viewer.projectId, id, listing);
  }

  /**
   * Validates the question, joins the chat's queue and reserves a query in the monthly quota.
   * @throws Fault `chat_not_found`; `query_quota_exceeded`; `overloaded` if too many messages wait in this chat;
   *   `invalid_request` for instructions that leave no room for sources
   */
  async send(viewer: Viewer, id: ChatId, question: ChatQuestion, asker: Asker): Promise<MessageRun> {
    await this.get(viewer, id);
    await this.#uses.answers.check(viewer, { ...question, model: null });
    const turn = this.#join(id);
    try {
      const reservation = await this.#uses.answers.reserveQuery(viewer);
      const answered = this.#answer(viewer, id, question, { begin: turn.begin, asker, reservation });
      const release = () => {
        turn.end();
        reservation.release();
      };
      return { ...answered, release };
    } catch (error) {
      turn.end();
      throw error;
    }
  }

  /** Joins the queue of a chat. @throws Fault `overloaded` if it is full */
  #join(id: ChatId): { readonly begin: Promise<void>; readonly end: () => void } {
    const queue = this.#queues.get(id) ?? { waiting: 0, last: Promise.resolve() };
    if (queue.waiting > LIMITS.messagesWaitingPerChat) {
      throw new Fault("overloaded", "Too many messages wait in this chat. Send the next one when they are answered.", {
        retryAfterSeconds: 1,
      });
    }
    this.#queues.set(id, queue);
    queue.waiting += 1;
    const begin = queue.last;
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    queue.last = ended;
    const end = () => {
      queue.waiting -= 1;
      if (queue.waiting === 0) this.#queues.delete(id);
      // A message that leaves the queue early must not let the next one start before the previous one has ended.
      void begin.then(resolve);
    };
    return { begin, end };
  }

  #answer(
    viewer: Viewer,
    id: ChatId,
    question: ChatQuestion,
    terms: { readonly begin: Promise<void>; readonly asker: Asker; readonly reservation: QuotaReservation },
  ): Omit<MessageRun, "release"> {
    const { transactions } = this.#uses;
    const { projectId } = viewer;
    const { begin, asker, reservation } = terms;
    const { signal, confirm } = asker;
    const answer = new AnswerSoFar();
    let run: AnswerRun | null = null;
    let asked: MessageId | null = null;
    const store = async (transaction: Transaction, isInterrupted: boolean): Promise<Message> => {
      invariant(run, "an answer is stored after it has begun");
      const message = await transaction.chats.append(projectId, id, {
        role: "assistant",
        content: answer.text,
        sources: answer
          .sourcesAmong(run.context(), question.maxSources)
          .map((source, at) => this.#sourceOf(source, at)),
        isInterrupted,
        answerState: isInterrupted ? null : answer.whole().state,
      });
      if (message === null) throw unknownChat(id); // removed while it was being answered
      await run.count(transaction);
      return message;
    };
    const onAsked = (message: Message) => {
      asked = message.id;
    };
    const begun = () => this.#begin(viewer, id, question, { signal, confirm, reservation, onAsked });
    const keepFailure = async (error: unknown) => {
      const message = asked;
      if (message === null) return;
      const failure = error instanceof Fault ? error.message : UNKNOWN_FAILURE;
      try {
        await transactions.run((transaction) => transaction.chats.fail(projectId, id, message, failure));
      } catch {
        return; // the caller gets the error of the answer, which says more than that it could not be stored
      }
    };
    const events = async function* (): AsyncGenerator<string> {
      signal.throwIfAborted(); // nothing is stored for a caller who disconnected while waiting in the queue
      let isDisconnected = true;
      try {
        run = await begun();
        for await (const event of run.events) {
          answer.add(event);
          if (event.type === "text") yield event.content;
        }
        isDisconnected = false;
      } catch (error) {
        isDisconnected = signal.aborted;
        if (!isDisconnected) await keepFailure(error);
        throw error;
      } finally {
        // After a disconnect, the text so far is stored. The text of a failed answer is not.
        if (isDisconnected && answer.text !== "") {
          await transactions.run(async (transaction) => {
            if ((await transaction.chats.get(projectId, id)) !== null) await store(transaction, true);
          });
        }
      }
    };
    return {
      events: inTurn(begin, events()),
      store: (transaction) => store(transaction, false),
      tokensUsed: () => answer.whole().tokensUsed,
    };
  }

  /** Stores the user's message, and begins to answer it. */
  async #begin(
    viewer: Viewer,
    id: ChatId,
    question: ChatQuestion,
    terms: Asker & { readonly reservation: QuotaReservation; readonly onAsked: (message: Message) => void },
  ): Promise<AnswerRun> {
    const { chats, answers } = this.#uses;
    const { onAsked, ...shared } = terms;
    const scope = scopeOf(await this.get(viewer, id));
    const history = await chats.turns(viewer.projectId, id, LIMITS.chatTurns);
    const asked = {
      role: "user",
      content: question.text,
      sources: [],
      isInterrupted: false,
      answerState: null,
    } as const;
    const message = await chats.append(viewer.projectId, id, asked);
    if (message === null) throw unknownChat(id);
    onAsked(message);
    return answers.answer(viewer, { ...question, ...scope, includeGraph: false, model: null }, { ...shared, history });
  }

  #sourceOf(source: CitedPassage, at: number): MessageSource {
    return { memoryKey: source.passage.memory.key, shown: this.#uses.describeSource(source, at) };
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

// The events of `answer`, which begin when `begin` resolves. Unlike a generator that waits, they can be ended before.
function inTurn(begin: Promise<void>, answer: AsyncGenerator<string>): AsyncGenerator<string> {
  const next = answer.next.bind(answer);
  return Object.assign(answer, {
    next: async () => {
      await begin;
      return next();
    },
  });
}

function unknownChat(id: string): Fault {
  return new Fault("chat_not_found", `There is no chat '${shortened(id)}' in this project.`, { param: "id" });
}
