// What the threads that answer requests and the main thread send each other.

import type { RoutePattern } from "../../account/rate-limits.ts";
import type { Config } from "../../config.ts";
import type { ProjectId } from "../../domain/ids.ts";
import type { RetrievalTuning } from "../../domain/retrieval-tuning.ts";
import type { Embedder, EmbedOptions, Reader, ReadOptions, ScoreOptions } from "../../ports/models.ts";
import type { Stores } from "../../ports/transactions.ts";
import type { QueuedTask } from "../../services/search-queue.ts";

/** The settings of a thread: all but `webhookAllow`, which cannot be sent, and which only the main thread needs. */
export type ThreadConfig = Omit<Config, "webhookAllow">;

/** What another thread knows of an embedder. */
export type KnownEmbedder = Pick<
  Embedder,
  "id" | "dimensions" | "fingerprint" | "tokensMax" | "languages" | "tuning"
> & {
  /** Languages of the reranker for its passages; null if it has none. */
  readonly rerankerLanguages: readonly string[] | null;
  /** `Reranker.tuning`; null: absent. */
  readonly rerankerTuning: RetrievalTuning | null;
  /** `Embedder.isRemote`, and the same of its reranker. */
  readonly isRemote: boolean;
  readonly isRerankerRemote: boolean;
  /** What is known of its reader; null if it has none. */
  readonly reader: Omit<Reader, "read"> | null;
};

/** What a thread gets when it starts. */
export interface ThreadStart {
  readonly config: ThreadConfig;
  /** Every route of the server, for the rate limits. */
  readonly routes: readonly RoutePattern[];
  /** Memory of the count of committed changes. */
  readonly changes: SharedArrayBuffer;
  /** Memory of a count that grows when models are added or removed, or a project chooses another one. */
  readonly modelChanges: SharedArrayBuffer;
}

/** A call of a method of a rate-limit window. */
export interface WindowCall {
  readonly window: "callers" | "failures";
  readonly key: string;
  readonly limit: number;
}

/** Work that asks for its turn. */
export interface AskedTurn {
  readonly projectId: ProjectId;
  readonly task: QueuedTask;
  readonly tokens: number | null;
  readonly bytes: number;
}

/** A turn, which lasts until it is released. */
export interface GivenTurn {
  readonly id: number;
  readonly waitedMs: number;
}

/** Tokens that a call of a language model may use. */
export interface AskedTokens {
  readonly projectId: ProjectId;
  readonly tokens: number;
  readonly limits: readonly number[];
}

/** A reservation of tokens: the number to give it back with, and the tokens that the project had used. */
export interface GivenTokens {
  readonly id: number;
  readonly used: number;
}

/** Texts to embed, or to count the tokens of. */
export interface SentEmbedding {
  readonly fingerprint: string;
  readonly texts: readonly string[];
  readonly options: Omit<EmbedOptions, "signal" | "onBegin">;
}

/** Passages to score. */
export interface SentScoring {
  /** Id of the embedder whose reranker scores, and the project for which it is. */
  readonly embedderId: string;
  readonly projectId: ProjectId;
  readonly query: string;
  readonly passages: readonly string[];
  readonly options: Omit<ScoreOptions, "signal" | "onBegin">;
}

/** Passages to read. */
export interface SentReading {
  /** Fingerprint of the embedder whose reader reads. */
  readonly fingerprint: string;
  readonly question: string;
  readonly passages: readonly string[];
  readonly options: Omit<ReadOptions, "signal" | "onBegin">;
}

/** A call of one method of a store. */
export interface StoreCall {
  readonly store: keyof Stores;
  readonly method: string;
  readonly parameters: readonly unknown[];
}
