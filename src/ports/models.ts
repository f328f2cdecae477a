// Interfaces of the models: an embedder computes vectors for texts, a reranker scores pairs of query and passage, and a
// reader says whether passages answer a question. Implemented by adapters/inference and adapters/remote-models.
//
// Obligations of an implementation:
// - Vectors have unit length and no NaN; anything else fails the call. Equal texts with equal purposes have equal
//   vectors, whatever other texts are in the same call.
// - Texts that are longer than the model's limit are truncated.
// - The queue, which all models share, is bounded. Work that does not fit is refused with Fault `overloaded`, unless it
//   has a turn: then the queue that gave the turn bounds it.
// - If a model cannot answer, the call fails with Fault `model_unavailable`. Other models still answer.
// - If a call is aborted, the part of its work that has not begun is not computed.
// - Ingest work of different shares takes turns. Within a share, calls with fewer tokens left go first, but none waits
//   forever.
// - `onBegin` is called once, when the call leaves the queue. The time before counts as waiting time.

import type { ProjectId } from "../domain/ids.ts";
import type {
  AddedModel,
  AddedTask,
  ModelTask,
  RemoteModel,
  RemoteProbes,
  RemoteRequest,
} from "../domain/installed-model.ts";
import type { ReaderTuning, RetrievalTuning } from "../domain/retrieval-tuning.ts";

/** Who waits for the result. `query`: a person. `ingest`: a batch job, which comes after queries. */
export type Priority = "query" | "ingest";

/** What a text is to an embedder: something that is searched for, or something that can be found. */
export type Purpose = "query" | "passage";

/** How to embed texts. */
export interface EmbedOptions {
  readonly purpose: Purpose;
  readonly priority: Priority;
  /** Whose ingest work this is: usually a project id. Default: one share for all calls without it. */
  readonly share?: string | undefined;
  /** Number of tokens that the whole job still has to embed, with this call. Default: unknown; the call goes last. */
  readonly tokensLeft?: number | undefined;
  /** Whether another queue limits such calls, and gave this one its turn. Default: no. */
  readonly hasTurn?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onBegin?: (() => void) | undefined;
}

/** Computes vectors for texts. */
export interface Embedder {
  /** Id of the model; of one with files, also the name of their folder. */
  readonly id: string;
  readonly dimensions: number;
  /**
   * Identifies everything that determines a vector: model, tokeniser, truncation and prefixes. Vectors with different
   * fingerprints are never mixed in one index.
   */
  readonly fingerprint: string;
  /**
   * Maximum number of tokens that the model reads of a text, special tokens included. The rest of the text is cut off.
   */
  readonly tokensMax: number;
  /** BCP 47 tags of the languages that the model was made for. */
  readonly languages: readonly string[];
  /** Weights and curves for search scores with vectors of this model. */
  readonly tuning: RetrievalTuning;
  /**
   * Whether another server runs it, or its files were absent when it was opened. Searches go on without vectors while
   * it cannot compute.
   */
  readonly isRemote?: boolean;
  /** The reader that uses its word table and tokeniser; null or absent if there is none. */
  readonly reader?: Reader | null;
  /** Vectors of `texts`, row-major `[n, dimensions]`. */
  embed(texts: readonly string[], options: EmbedOptions): Promise<Float32Array>;
  /**
   * Number of tokens of each text with the prefix of its purpose, special tokens included, before truncation. The call
   * waits in the same queue as `embed`.
   */
  countTokens(texts: readonly string[], options: EmbedOptions): Promise<readonly number[]>;
}

/** Number of values in a reading of a passage. */
export const READING_WIDTH = 5;

/** Positions of the values in a reading. */
export const READING = {
  /** Logit: how relevant the passage is. */
  relevance: 0,
  /** Logit: whether the passage answers the question. */
  answer: 1,
  /** Begin and end, in UTF-16 code units of the passage, of the words that answer; both -1 if there are none. */
  begin: 2,
  end: 3,
  /** Logit of these words: higher means more certain. */
  span: 4,
} as const;

/** How to read passages. */
export type ReadOptions = Pick<ScoreOptions, "signal" | "onBegin" | "deadlineMs">;

/** Reads passages, to say whether they answer a question, and with which words. */
export interface Reader {
  /** Id of the model. */
  readonly id: string;
  /** BCP 47 tags of the languages that the model was made for. */
  readonly languages: readonly string[];
  readonly tuning: ReaderTuning;
  /**
   * A row of `READING_WIDTH` values per passage, in the order of the passages. All values of a passage that was not
   * read by the deadline are NaN.
   */
  read(question: string, passages: readonly string[], options?: ReadOptions): Promise<Float32Array>;
}

/** The installed embedders. */
export interface Embedders {
  /** The embedder of new projects. */
  readonly default: Embedder;
  /** Ids of all embedders, in ascending order. */
  readonly ids: readonly string[];
  /** @throws Fault `invalid_request` that lists the ids if there is no such embedder */
  get(id: string): Embedder;
  /** The embedder whose vectors an index has; null if it is not installed. */
  withFingerprint(fingerprint: string): Embedder | null;
}

/** The properties that distinguish an embedder from others. */
export type EmbedderIdentity = Pick<Embedder, "id" | "dimensions" | "fingerprint">;

/** The installed embedders, for code that computes no vectors. */
export interface InstalledEmbedders {
  readonly default: EmbedderIdentity;
  readonly ids: Embedders["ids"];
  get(id: string): EmbedderIdentity;
  withFingerprint(fingerprint: string): EmbedderIdentity | null;
}

/** Id of the model with this fingerprint; the fingerprint itself if the model is not installed. */
export function modelIdOf(embedders: Pick<InstalledEmbedders, "withFingerprint">, fingerprint: string): string {
  return embedders.withFingerprint(fingerprint)?.id ?? fingerprint;
}

/**
 * Lets a reranker run only its first layers on passages that are unlikely to rank high. Their logits are then
 * estimates.
 */
export interface EarlyExit {
  /** Prior score of each passage: its hybrid score, scaled so that it can be added to a logit. */
  readonly priorScores: readonly number[];
  /**
   * Approximate number of tokens that pass through all layers. The pairs with the highest sum of prior score and
   * estimated logit are chosen for that. If all pairs together have no more tokens, all of them pass through all
   * layers.
   */
  readonly fullTokensMax: number;
}

/** How to score passages. */
export interface ScoreOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onBegin?: (() => void) | undefined;
  /** Allows estimates instead of logits for some passages; an implementation may ignore it. */
  readonly earlyExit?: EarlyExit | undefined;
  /**
   * Deadline in milliseconds from the call. After it, passages that are not scored yet get NaN. Infinity: none, which
   * is the default.
   */
  readonly deadlineMs?: number | undefined;
}

/** Scores the relevance of (query, passage) pairs. */
export interface Reranker {
  /** Whether another server runs it. Searches go on without it while that server is away. */
  readonly isRemote?: boolean;
  /**
   * Weights and curves for scores with this reranker and the embedder that it was asked for. Absent: those of the
   * embedder, because it is the embedder's own reranker.
   */
  readonly tuning?: RetrievalTuning;
  /** BCP 47 tags of the languages that the model was made for. */
  readonly languages: readonly string[];
  /**
   * Returns one logit per passage, in the order of the passages. Logits are unbounded; a larger one means more
   * relevant.
   */
  score(query: string, passages: readonly string[], options?: ScoreOptions): Promise<Float32Array>;
}

/** The installed rerankers. */
export interface Rerankers {
  /**
   * The reranker for passages that this embedder finds: the one that was chosen for the project, otherwise the one that
   * belongs to the embedder; null if it has none.
   */
  for(embedder: Pick<Embedder, "id">, projectId?: ProjectId): Reranker | null;
}

/** A model that ships with the program. */
export interface BuiltInModel {
  readonly id: string;
  readonly task: ModelTask;
  /** null for a reranker or reader. */
  readonly dimensions: number | null;
  readonly tokensMax: number;
  readonly languages: readonly string[];
  readonly licence: string;
}

/** What a model computed when it was exported: the vector of a text, or the logits of a query and a passage. */
export interface Reference {
  /** The text, or the query. */
  readonly text: string;
  readonly purpose: Purpose;
  /** null for an embedder. */
  readonly passage: string | null;
  /** A vector, one logit, or the logits of relevance and answer. */
  readonly values: readonly number[];
}

/** An embedder, with the id of its reranker; null: it has none. */
export interface FoundEmbedder {
  readonly task: "embed";
  readonly embedder: Embedder;
  readonly reranker: string | null;
  readonly references: readonly Reference[];
}

/** A reranker. */
export interface FoundReranker {
  readonly task: "rerank";
  readonly reranker: Reranker;
  readonly references: readonly Reference[];
}

/** A reader. */
export interface FoundReader {
  readonly task: "read";
  readonly reader: Reader;
  readonly references: readonly Reference[];
}

/** A model that can be used on this node. */
export type FoundModel = FoundEmbedder | FoundReranker | FoundReader;

/** Models that cannot be used on this node, each with the reason in one sentence. */
export type ModelProblems = ReadonlyMap<string, string>;

/** The models whose files are on this node. */
export interface LocalModels {
  /** In ascending order of their ids; the default embedder first. */
  readonly builtIn: readonly BuiltInModel[];
  /** A built-in model by its id; null if there is none. */
  builtInModel(id: string): FoundModel | null;
  /**
   * Opens a model that was added. It is loaded when it is first used.
   * @throws Error with one sentence for the operator if its files are missing or have changed
   */
  open(model: Pick<AddedModel, "id" | "manifestSha256">): FoundModel;
}

/** What was found out about a remote model. */
export interface ExaminedModel {
  /** null for a reranker. */
  readonly dimensions: number | null;
  readonly tokensMax: number;
  /** Covers the id, and what the model computes now, so that no two models have the same. null for a reranker. */
  readonly fingerprint: string | null;
  readonly probes: RemoteProbes | null;
}

/**
 * The models that other servers compute. An opened embedder notices before it returns a vector that its server computes
 * other vectors than when the model was added, or sends them in another order; the call then fails.
 */
export interface RemoteModels {
  /**
   * Calls a model to find out its properties.
   * @throws Fault `model_unavailable` with one sentence for the operator if it does not answer as its API says
   */
  examine(id: string, remote: RemoteModel, task: AddedTask): Promise<ExaminedModel>;
  /** Opens a model that was examined. @throws Error with one sentence if it was not */
  open(model: AddedModel): FoundModel;
  /** Why the last call of this node failed, in one sentence; null if it did not. */
  problem(model: Pick<AddedModel, "remote">): string | null;
  /** Why servers with this API have no models for the task; null if they have. */
  refusal(remote: Pick<RemoteRequest["remote"], "api" | "says_purpose">, task: AddedTask): string | null;
}
