// Searches: determines the scope from the viewer and the user that a request names, then calls retrieval.

import { type Filter, narrowed } from "../domain/filter.ts";
import type { ProjectId } from "../domain/ids.ts";
import { DEFAULT_SETTINGS } from "../domain/project.ts";
import type { ModeName, RankedPassage, Ranking } from "../domain/ranking.ts";
import { userOf, type Viewer } from "../domain/scope.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type { MemoryStore } from "../ports/memory-store.ts";
import type { Reranker } from "../ports/models.ts";
import { admissibleSet, type Confinement, isWithin } from "../retrieval/admissible.ts";
import type { RetrievalParts } from "../retrieval/request.ts";
import { embedderOf, search } from "../retrieval/search.ts";
import type { SearchAdmission } from "./search-admission.ts";

/** A search as a caller requests it. */
export interface SearchQuestion {
  readonly query: string;
  /** null if the project's `default_mode` is used. */
  readonly mode: ModeName | null;
  readonly limit: number;
  readonly scoreMin: number;
  /** If it is absent, the search covers every user's memories and those without a user. */
  readonly userId?: string;
  /** If it is absent, the search covers the memories of every agent, and those without one. */
  readonly agentId?: string;
  /** If it is absent, the search covers the memories of every session, and those without one. */
  readonly sessionId?: string;
  readonly includeGraph: boolean;
  /** null if all memories in the scope are admissible. */
  readonly filter: Filter | null;
  /** Time at which the question is asked, Unix milliseconds; default: now. */
  readonly asOf?: number;
}

/** The part of a question that limits which memories it may find. */
export type Confined = Pick<SearchQuestion, "userId" | "agentId" | "sessionId" | "filter">;

/** What the service needs. */
export type SearchServiceParts = RetrievalParts & {
  readonly memories: Pick<MemoryStore, "userKey">;
  readonly accounts: Pick<AccountStore, "project">;
  readonly admission: SearchAdmission;
};

/** Searches of one project. */
export class SearchService {
  readonly #parts: SearchServiceParts;

  constructor(parts: SearchServiceParts) {
    this.#parts = parts;
  }

  /**
   * Ranked passages. Stops when `signal` aborts.
   * @throws Fault `insufficient_scope` if a confined viewer names another user; `overloaded` if the server has more
   *   searches than it can answer in time; `model_unavailable` if no lane can run
   */
  async search(viewer: Viewer, question: SearchQuestion, signal: AbortSignal): Promise<Ranking> {
    const { userId: _user, agentId: _agent, sessionId: _session, ...request } = question;
    const mode = question.mode ?? (await this.#defaultMode(viewer));
    const confinement = await this.#confinementOf(viewer, question);
    return this.#parts.admission.run({ mode, projectId: viewer.projectId }, () =>
      search(this.#parts, { ...request, mode, ...confinement, signal }),
    );
  }

  /** Whether a search limited in this way can find any memory. */
  async admits(viewer: Viewer, confined: Confined): Promise<boolean> {
    const { index, clock } = this.#parts;
    using project = await index.current(viewer.projectId);
    const within = await admissibleSet({ index: project, clock }, await this.#confinementOf(viewer, confined));
    return within !== null && within.memories > 0;
  }

  /** Those of `found` that a search limited in this way may still show: their memories are still admissible. */
  async stillShown<Found extends { readonly passage: RankedPassage }>(
    viewer: Viewer,
    confined: Confined,
    found: readonly Found[],
  ): Promise<readonly Found[]> {
    const confinement = await this.#confinementOf(viewer, confined);
    const keys = [...new Set(found.map(({ passage }) => passage.memory.key))];
    const rows = await this.#parts.memories.getMany(viewer.projectId, keys);
    return found.filter(({ passage: { memory } }) => {
      const now = rows.get(memory.key);
      return now?.version === memory.version && isWithin(confinement, now);
    });
  }

  /** The reranker of the model with which a project searches; null if there is none. */
  async rerankerOf(projectId: ProjectId): Promise<Reranker | null> {
    const { index, rerankers } = this.#parts;
    using project = await index.project(projectId);
    return rerankers.for(await embedderOf(this.#parts, project));
  }

  async #defaultMode({ projectId }: Viewer): Promise<ModeName> {
    const project = await this.#parts.accounts.project(projectId);
    return (project?.settings ?? DEFAULT_SETTINGS).default_mode;
  }

  async #confinementOf(viewer: Viewer, confined: Confined): Promise<Confinement> {
    const { userId: named, agentId, sessionId } = confined;
    const { projectId } = viewer;
    const userId = userOf(viewer, named);
    const user =
      userId === undefined ? null : { id: userId, key: await this.#parts.memories.userKey(projectId, userId) };
    return { scope: { projectId, user }, filter: narrowed(confined.filter, { agentId, sessionId }) };
  }
}
