// Searches: determines the scope from the viewer and the user that a request names, then calls retrieval.

import type { SentenceReaders } from "../answer/sentence-relevance.ts";
import { acceptedBy, type Filter, narrowed, refuseFilterThen } from "../domain/filter.ts";
import type { ProjectId } from "../domain/ids.ts";
import { type MemoryScope, scopeOf } from "../domain/memory-attributes.ts";
import { DEFAULT_SETTINGS } from "../domain/project.ts";
import type { ModeName, RankedPassage, Ranking } from "../domain/ranking.ts";
import { userOf, type Viewer } from "../domain/scope.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type { HistoryStore } from "../ports/history-store.ts";
import type { MemoryStore } from "../ports/memory-store.ts";
import type { UserStore } from "../ports/user-store.ts";
import { admissibleSet, type FilteredScope, isWithin } from "../retrieval/admissible.ts";
import { type EarlierDependencies, searchThen } from "../retrieval/earlier-texts.ts";
import { MODES } from "../retrieval/modes.ts";
import { embedderOf, search } from "../retrieval/search.ts";
import { refuseOutsideHistory } from "./history.ts";
import type { RecentResults } from "./recent-results.ts";
import type { SearchQueue } from "./search-queue.ts";
import type { SlowSearches } from "./slow-searches.ts";
import { zoneOf } from "./zones.ts";

/** When and in which time zone a question is asked. */
export interface AskedAt {
  /** Unix milliseconds; default: now. */
  readonly asOf?: number;
  /** Whether `asOf` is a whole day, given by its first instant in UTC: the same day in every time zone. */
  readonly isDay?: boolean;
  /** IANA name, or an offset such as `+09:00`; default: the zone of the user, else that of the project, else UTC. */
  readonly timeZone?: string;
}

/** A search as a caller requests it. It covers the memories of all users, agents and sessions that it does not name. */
export interface RequestedSearch extends MemoryScope, AskedAt {
  readonly query: string;
  /** null if the project's `default_mode` is used. */
  readonly mode: ModeName | null;
  readonly limit: number;
  readonly scoreMin: number;
  readonly includeGraph: boolean;
  /** null if all memories in the scope are admissible. */
  readonly filter: Filter | null;
  /** Whether the ranking says how probable it is that the best passages answer. Default: no. */
  readonly wantsEvidence?: boolean;
  /** Whether a reader may read the best passages for the evidence. Default: in modes that rerank. */
  readonly mayRead?: boolean;
  /** Time whose texts and relations are searched, Unix milliseconds; default: now. */
  readonly knownAt?: number;
}

/** The part of a requested search that limits which memories it may find. */
export type RequestedScope = MemoryScope & Pick<RequestedSearch, "filter" | "knownAt">;

/** Who waits for an answer. */
export interface Asker {
  /** Aborts when the caller disconnects. */
  readonly signal: AbortSignal;
  /** Checks the caller's key again. @throws Fault `invalid_api_key` if it has become invalid or has other rights now */
  readonly confirm: () => Promise<void>;
}

/** What the service needs. */
export type SearchServiceDependencies = EarlierDependencies & {
  readonly history: Pick<HistoryStore, "horizon">;
  readonly memories: Pick<MemoryStore, "userKey">;
  readonly accounts: Pick<AccountStore, "project">;
  readonly users: Pick<UserStore, "get">;
  readonly queue: SearchQueue;
  readonly slow: SlowSearches;
  /** What the models computed for recent questions. */
  readonly recent: Pick<RecentResults, "of">;
};

/** Searches of one project. */
export class SearchService {
  readonly #parts: SearchServiceDependencies;

  constructor(parts: SearchServiceDependencies) {
    this.#parts = parts;
  }

  /**
   * Ranked passages. Waits for its turn first.
   * @throws Fault as `refuseThen`; `insufficient_scope` if a confined viewer names another user; `overloaded` if the
   *   turn does not come in time; `model_unavailable` if no lane can run
   */
  async search(viewer: Viewer, requested: RequestedSearch, asker: Asker): Promise<Ranking> {
    const { signal } = asker;
    const { projectId } = viewer;
    const task = requested.mode ?? (await this.#defaultMode(viewer));
    const { knownAt } = requested;
    await this.refuseThen(projectId, requested);
    const scope = await this.#scopeOf(viewer, requested);
    const work = { projectId, task, bytes: () => bytesOf(requested), signal };
    const startedAt = performance.now();
    const ranking = await this.#parts.queue.run(work, async (waitedMs) => {
      if (waitedMs > 0) await asker.confirm();
      const timeZone = () => this.timeZone(viewer, requested);
      const { mayRead = MODES[task].rerankDepth > 0 } = requested;
      const request = { ...requested, mayRead, timeZone, mode: task, ...scope, waitedMs, signal };
      const parts = { ...this.#parts, ...this.#parts.recent.of(projectId, this.#parts) };
      return knownAt === undefined ? search(parts, request) : searchThen(parts, { ...request, knownAt });
    });
    this.#parts.slow.note(projectId, requested, ranking, performance.now() - startedAt);
    return ranking;
  }

  /**
   * @throws Fault `invalid_request` if not all states of the time `knownAt` are known; `invalid_filter` if the filter
   *   cannot be applied to them
   */
  async refuseThen(
    projectId: ProjectId,
    { knownAt, filter }: Pick<RequestedSearch, "knownAt" | "filter">,
  ): Promise<void> {
    if (knownAt === undefined) return;
    refuseFilterThen(filter);
    await refuseOutsideHistory(this.#parts, projectId, knownAt);
  }

  /** Whether a search limited in this way can find any memory. */
  async admits(viewer: Viewer, requested: RequestedScope): Promise<boolean> {
    const { index, clock } = this.#parts;
    using project = await index.current(viewer.projectId);
    const within = await admissibleSet({ index: project, clock }, await this.#scopeOf(viewer, requested));
    return within !== null && within.memories > 0;
  }

  /** Those of `found` that a search limited in this way may still show: their memories are still admissible. */
  async stillShown<Found extends { readonly passage: RankedPassage }>(
    viewer: Viewer,
    requested: RequestedScope,
    found: readonly Found[],
  ): Promise<readonly Found[]> {
    const scope = await this.#scopeOf(viewer, requested);
    const keys = [...new Set(found.map(({ passage }) => passage.memory.key))];
    const rows = await this.#parts.memories.getMany(viewer.projectId, keys);
    return found.filter(({ passage: { memory } }) => {
      const now = rows.get(memory.key);
      return now?.version === memory.version && isWithin(scope, now);
    });
  }

  /** The models with which a project searches, for the sentences of an answer. Their calls wait for their turn. */
  async sentenceReaders(projectId: ProjectId, signal: AbortSignal): Promise<SentenceReaders> {
    const { index, queue, recent } = this.#parts;
    using project = await index.project(projectId);
    const { embedders, rerankers } = recent.of(projectId, this.#parts);
    const embedder = await embedderOf({ embedders }, project);
    const reranker = rerankers.for(embedder, projectId);
    const inTurn = <Result>(sentences: readonly string[], call: () => Promise<Result>) => {
      const bytes = () => sentences.reduce((sum, sentence) => sum + Buffer.byteLength(sentence), 0);
      return queue.run({ projectId, task: "sentences", bytes, signal }, call);
    };
    return {
      embedder: {
        languages: embedder.languages,
        dimensions: embedder.dimensions,
        tuning: embedder.tuning,
        embed: (texts, options) => inTurn(texts, () => embedder.embed(texts, options)),
      },
      reranker: reranker && {
        languages: reranker.languages,
        score: (query, texts, options) => inTurn(texts, () => reranker.score(query, texts, options)),
      },
    };
  }

  async #defaultMode({ projectId }: Viewer): Promise<ModeName> {
    const project = await this.#parts.accounts.project(projectId);
    return (project?.settings ?? DEFAULT_SETTINGS).default_mode;
  }

  /** The zone in which times are meant: that of the request, else of the user, of the project, or UTC. */
  async timeZone(viewer: Viewer, requested: RequestedScope & Pick<AskedAt, "timeZone">): Promise<string> {
    if (requested.timeZone !== undefined) return requested.timeZone;
    return zoneOf(this.#parts, viewer.projectId, userOf(viewer, requested.userId) ?? null);
  }

  async #scopeOf(viewer: Viewer, requested: RequestedScope): Promise<FilteredScope> {
    const { userId: named, ...others } = scopeOf(requested);
    const { projectId } = viewer;
    const userId = userOf(viewer, named);
    const user =
      userId === undefined ? null : { id: userId, key: await this.#parts.memories.userKey(projectId, userId) };
    const filter = narrowed(requested.filter, others);
    const { knownAt } = requested;
    return { scope: { projectId, user }, filter: knownAt === undefined ? filter : acceptedBy(filter, knownAt) };
  }
}

/** Approximate size of a requested search in RAM, in bytes. */
function bytesOf({ query, filter }: RequestedSearch): number {
  return Buffer.byteLength(query) + (filter === null ? 0 : Buffer.byteLength(JSON.stringify(filter)));
}
