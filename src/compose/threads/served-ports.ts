// What the main thread does for the threads that answer requests: it has the connection that writes, the models, and
// everything that all threads must share. remote-ports.ts, remote-models.ts and others are the other ends.

import type { App } from "../../api/app.ts";
import { Fault, invariant } from "../../domain/fault.ts";
import type { ProjectId } from "../../domain/ids.ts";
import type { Metrics, TakenCounts } from "../../metrics.ts";
import type { ChunkIndex } from "../../ports/chunk-index.ts";
import type { Coordination } from "../../ports/coordination.ts";
import type { LanguageModel, LlmRequest } from "../../ports/language-model.ts";
import type { Reader } from "../../ports/models.ts";
import type { PrepareInput } from "../../ports/preparer.ts";
import type { Stores, Transaction, Transactions } from "../../ports/transactions.ts";
import type { SearchQueue } from "../../services/search-queue.ts";
import type { Noted } from "../../stores/sqlite/reading-stores.ts";
import type { Models } from "../models.ts";
import { answerForwarded, type SentRequest } from "./forwarding.ts";
import { callModel } from "./remote-language-model.ts";
import type { Answers, ReceivedCall } from "./thread-calls.ts";
import type {
  AskedTokens,
  AskedTurn,
  GivenTokens,
  GivenTurn,
  KnownEmbedder,
  SentEmbedding,
  SentReading,
  SentScoring,
  StoreCall,
  WindowCall,
} from "./thread-protocol.ts";

/** What the main thread shares with the other threads. */
export interface SharedParts {
  readonly coordination: Coordination;
  readonly queue: SearchQueue;
  readonly models: Pick<Models, "embedders" | "rerankers" | "preparer">;
  /** Calls language models. */
  readonly model: LanguageModel;
  readonly index: ChunkIndex;
  readonly stores: Stores;
  readonly transactions: Transactions;
  readonly addNoted: (noted: Noted) => void;
  readonly metrics: Metrics;
  /** Answers the requests that the other threads do not answer themselves. */
  readonly app: App;
}

/** Answers the calls of one thread. */
export class ServedPorts {
  /** Functions that give back what the thread holds, such as a turn, by the number of the call that gave it. */
  readonly #held = new Map<number, () => unknown>();
  readonly #transactions = new Map<number, ServedTransaction>();

  constructor(
    private readonly parts: SharedParts,
    private readonly onUp: () => void,
  ) {}

  /** Functions that answer the calls, by the names of the calls. */
  get answers(): Answers {
    const { parts } = this;
    const { coordination, models, metrics, app } = parts;
    const transactionOf = (id: number) => {
      const open = this.#transactions.get(id);
      invariant(open, "a thread uses a transaction only while it is open");
      return open;
    };
    return {
      up: () => this.onUp(),
      admit: ({ window, key, limit }: WindowCall) => coordination[window].admit(key, limit),
      peek: ({ window, key, limit }: WindowCall) => coordination[window].peek(key, limit),
      reserve: async (projectId: ProjectId, call) => {
        const reservation = await coordination.quotas.reserve(projectId);
        this.#held.set(call.id, () => reservation.release());
        return call.id;
      },
      reserveTokens: async ({ projectId, tokens, limits }: AskedTokens, call): Promise<GivenTokens> => {
        const { used, release } = await coordination.monthlyTokens.reserve(projectId, tokens, limits, call.signal);
        this.#held.set(call.id, release);
        return { id: call.id, used };
      },
      beginFlight: async (slotKey: string, call) => {
        const flight = await coordination.flights.begin(slotKey);
        if (flight !== null) this.#held.set(call.id, () => flight.end());
        return flight === null ? null : call.id;
      },
      release: (id: number) => this.#release(id),
      takeTurn: (work: AskedTurn, call) => this.#takeTurn(work, call),
      embed: ({ fingerprint, texts, options }: SentEmbedding, call) =>
        this.#embedderOf(fingerprint).embed(texts, { ...options, signal: call.signal, onBegin: () => call.emit(null) }),
      countTokens: ({ fingerprint, texts, options }: SentEmbedding, call) =>
        this.#embedderOf(fingerprint).countTokens(texts, { ...options, signal: call.signal }),
      score: ({ embedderId, projectId, query, passages, options }: SentScoring, call) => {
        const reranker = models.rerankers.for({ id: embedderId }, projectId);
        if (reranker === null) throw new Fault("model_unavailable", "The reranker of this project was removed.");
        return reranker.score(query, passages, { ...options, signal: call.signal, onBegin: () => call.emit(null) });
      },
      read: ({ fingerprint, question, passages, options }: SentReading, call) => {
        const { reader } = this.#embedderOf(fingerprint);
        if (!reader) throw new Fault("model_unavailable", "The reader of this project was removed.");
        return reader.read(question, passages, { ...options, signal: call.signal, onBegin: () => call.emit(null) });
      },
      prepare: async (inputs: readonly PrepareInput[], call) =>
        (await models.preparer.prepare(inputs, call.signal)).map((outcome) =>
          outcome instanceof Error ? { failure: outcome.message } : { prepared: outcome },
        ),
      knownModels: (id: ProjectId) => this.#knownModels(id),
      callModel: (request: LlmRequest, call) => callModel(parts.model, request, call),
      openProject: async (id: ProjectId) => {
        (await parts.index.project(id))[Symbol.dispose]();
      },
      store: ({ store, method, parameters }: StoreCall) => callOf(parts.stores[store], method)(...parameters),
      beginTransaction: (_: null, call) => this.#begin(call),
      inTransaction: ({ id, store, method, parameters }: StoreCall & { readonly id: number }) =>
        callOf(transactionOf(id).transaction[store], method)(...parameters),
      commit: (id: number) => transactionOf(id).commit(),
      rollBack: (id: number) => this.#transactions.get(id)?.rollBack(), // it may have ended
      noted: (noted: Noted) => parts.addNoted(noted),
      counted: (counts: readonly TakenCounts[]) => metrics.add(counts),
      forward: (request: SentRequest, call) => answerForwarded(app, request, call),
    };
  }

  /** Gives back everything that the thread holds, because it has ended. */
  async close(): Promise<void> {
    for (const transaction of this.#transactions.values()) void transaction.rollBack();
    await Promise.all([...this.#held.keys()].map((id) => this.#release(id)));
  }

  async #release(id: number): Promise<void> {
    const giveBack = this.#held.get(id);
    this.#held.delete(id);
    await giveBack?.();
  }

  #embedderOf(fingerprint: string) {
    const embedder = this.parts.models.embedders.withFingerprint(fingerprint);
    if (embedder === null) throw new Fault("model_unavailable", "The model of this project was removed.");
    return embedder;
  }

  #knownModels(id: ProjectId): readonly KnownEmbedder[] {
    const { embedders, rerankers } = this.parts.models;
    return embedders.ids.map((name) => {
      const { dimensions, fingerprint, tokensMax, languages, tuning, isRemote = false, reader } = embedders.get(name);
      const {
        languages: rerankerLanguages = null,
        tuning: rerankerTuning = null,
        isRemote: isRerankerRemote = false,
      } = rerankers.for({ id: name }, id) ?? {};
      const { read: _, ...described } = reader ?? { read: null };
      const knownReader = reader ? (described as Omit<Reader, "read">) : null;
      const known = { id: name, dimensions, fingerprint, tokensMax, languages, tuning, isRemote, reader: knownReader };
      return { ...known, rerankerLanguages, rerankerTuning, isRerankerRemote };
    });
  }

  #takeTurn({ projectId, task, tokens, bytes }: AskedTurn, call: ReceivedCall): Promise<GivenTurn> {
    const { promise, resolve, reject } = Promise.withResolvers<GivenTurn>();
    const work = { projectId, task, ...(tokens !== null && { tokens }), bytes: () => bytes, signal: call.signal };
    this.parts.queue
      .run(work, (waitedMs) => {
        const { promise: ended, resolve: end } = Promise.withResolvers<void>();
        this.#held.set(call.id, end);
        resolve({ id: call.id, waitedMs });
        return ended;
      })
      .catch(reject);
    return promise;
  }

  #begin({ id }: ReceivedCall): Promise<number> {
    const { promise: begun, resolve, reject } = Promise.withResolvers<number>();
    const { promise: ended, resolve: commit, reject: rollBack } = Promise.withResolvers<void>();
    const running: Promise<void> = this.parts.transactions.run((transaction) => {
      this.#transactions.set(id, {
        transaction,
        commit: () => {
          commit();
          return running;
        },
        rollBack: async () => {
          rollBack(ROLLED_BACK);
          await Promise.allSettled([running]);
        },
      });
      resolve(id);
      return ended;
    });
    running.finally(() => this.#transactions.delete(id)).catch(reject);
    return begun;
  }
}

interface ServedTransaction {
  readonly transaction: Transaction;
  /** Resolves when the transaction is committed. */
  readonly commit: () => Promise<void>;
  readonly rollBack: () => Promise<void>;
}

const ROLLED_BACK = new Error("a thread has rolled its transaction back");

function callOf(store: object, method: string): (...parameters: readonly unknown[]) => unknown {
  return (Reflect.get(store, method) as (...parameters: readonly unknown[]) => unknown).bind(store);
}
