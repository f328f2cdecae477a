// What a caller may search in: turns names of the request into a scope, then hands over to retrieval.

import type { Filter } from "../domain/filter.ts";
import type { ProjectId } from "../domain/ids.ts";
import type { ModeName, RankedPassage, Ranking } from "../domain/ranking.ts";
import type { MemoryStore } from "../ports/memory-store.ts";
import { admissibleSet, type Confinement, isWithin } from "../retrieval/admissible.ts";
import { type RetrievalParts, search } from "../retrieval/plan.ts";

/** A search as a caller words it. */
export interface SearchQuestion {
  readonly query: string;
  readonly mode: ModeName;
  readonly limit: number;
  readonly scoreMin: number;
  /** Absent: every user's memories, and those that belong to none. */
  readonly userId?: string;
  readonly includeGraph: boolean;
  /** null: all memories in scope. */
  readonly filter: Filter | null;
}

/** What of a question says where it may look. */
export type Confined = Pick<SearchQuestion, "userId" | "filter">;

/** Searches within a project. */
export class SearchService {
  readonly #parts: RetrievalParts & { readonly memories: Pick<MemoryStore, "userKey"> };

  constructor(parts: RetrievalParts & { readonly memories: Pick<MemoryStore, "userKey"> }) {
    this.#parts = parts;
  }

  /**
   * Ranked passages; stops when `signal` aborts.
   * @throws Fault `overloaded` or `model_unavailable`.
   */
  async search(projectId: ProjectId, question: SearchQuestion, signal: AbortSignal): Promise<Ranking> {
    const { userId: _, ...request } = question;
    return search(this.#parts, { ...request, ...this.#confinementOf(projectId, question), signal });
  }

  /** Whether there is any memory that a search so confined can find. */
  async admits(projectId: ProjectId, confined: Confined): Promise<boolean> {
    const { index, clock } = this.#parts;
    const project = await index.project(projectId);
    const within = await admissibleSet({ index: project, clock }, this.#confinementOf(projectId, confined));
    return within !== null && within.memories > 0;
  }

  /** Whether a passage that was found is still one that a search so confined may show. */
  isShown(projectId: ProjectId, confined: Confined, { memory: { key, version } }: RankedPassage): boolean {
    const memory = this.#parts.memories.getMany(projectId, [key]).get(key);
    return memory?.version === version && isWithin(this.#confinementOf(projectId, confined), memory);
  }

  #confinementOf(projectId: ProjectId, { userId, filter }: Confined): Confinement {
    const user = userId === undefined ? null : { id: userId, key: this.#parts.memories.userKey(projectId, userId) };
    return { scope: { projectId, user }, filter };
  }
}
