// Types of a search: the request, the parts that retrieval needs, and the state that the steps of a search share.

import type { ModeName } from "../domain/ranking.ts";
import type { RetrievalTuning } from "../domain/retrieval-tuning.ts";
import type { Clock } from "../kit/clock.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type { AdmissibleSet, IndexOf, SearchIndex } from "../ports/chunk-index.ts";
import type { HistoryStore } from "../ports/history-store.ts";
import type { MemoryStore } from "../ports/memory-store.ts";
import type { Embedder, Embedders, Reranker, Rerankers } from "../ports/models.ts";
import type { RelationStore } from "../ports/relation-store.ts";
import type { FilteredScope } from "./admissible.ts";
import type { Mode } from "./modes.ts";
import type { Stopwatch } from "./stopwatch.ts";
import type { ZonedTime } from "./time/zoned-time.ts";

/** A search request. */
export interface SearchRequest extends FilteredScope {
  readonly query: string;
  readonly mode: ModeName;
  readonly limit: number;
  /** Results below this calibrated score are left out. */
  readonly scoreMin: number;
  /** Whether graph search also runs in a mode that does not use it otherwise. */
  readonly includeGraph: boolean;
  /** Time at which the query is asked, Unix milliseconds; default: now. "Last week" is counted from here. */
  readonly asOf?: number;
  /** Whether `asOf` is a date without a time: its first instant in UTC. It is the same day in every time zone. */
  readonly isDay?: boolean;
  /**
   * Time whose texts and relations are searched, Unix milliseconds; default: now. The filter admits only memories that
   * were accepted by then.
   */
  readonly knownAt?: number;
  /** The time zone in which times of the query are read, asked for only if it names a time. Default: UTC. */
  readonly timeZone?: () => string | Promise<string>;
  /** Whether the ranking contains the evidence: the probability that the best passages answer. Default: false. */
  readonly wantsEvidence?: boolean;
  /** Whether a reader may read the best passages to compute the evidence. Default: false. */
  readonly mayRead?: boolean;
  /** Time in milliseconds for which the search has waited for its turn; `explain` shows it as `queue`. Default: 0. */
  readonly waitedMs?: number;
  readonly signal?: AbortSignal;
}

/** Dependencies of retrieval. */
export interface RetrievalDependencies {
  readonly index: IndexOf<SearchIndex>;
  readonly memories: Pick<MemoryStore, "getMany">;
  readonly accounts: Pick<AccountStore, "chunkIds">;
  readonly relations: Pick<RelationStore, "supersededAt">;
  readonly history: Pick<HistoryStore, "textsAt" | "earlierTexts">;
  readonly embedders: Pick<Embedders, "withFingerprint">;
  readonly rerankers: Rerankers;
  /** The language of a query, BCP 47; `und` if unsure. */
  readonly languageOf: (query: string) => string | Promise<string>;
  readonly clock: Clock;
  /**
   * Time in milliseconds after which a search continues with the passages that the reranker or the reader has read so
   * far. Infinity: it waits for all. The default is many times as long as reranking takes, so it matters only on a very
   * busy machine.
   */
  readonly rerankDeadlineMs: number;
}

/** A running search: the state that all of its steps share. */
export interface Search {
  readonly parts: RetrievalDependencies;
  readonly request: SearchRequest;
  readonly mode: Mode;
  readonly index: SearchIndex;
  /** The embedder whose vectors the index has. */
  readonly embedder: Embedder;
  /** The reranker for passages of this embedder; null if it has none. The mode decides whether it is used. */
  readonly reranker: Reranker | null;
  /** Weights and curves for these models. */
  readonly tuning: RetrievalTuning;
  readonly within: AdmissibleSet;
  readonly watch: Stopwatch;
  /** Whether the query has a vector. Without one, full text decides. */
  readonly hasVectors: boolean;
  /** Language of the query, BCP 47; `und` if unsure. */
  readonly language: string;
  /** Whether standing instructions and preferences are added to the results (standing.ts). */
  readonly offersStanding: boolean;
  /** The time that the query names; null if it names none. */
  readonly time: ZonedTime | null;
}
