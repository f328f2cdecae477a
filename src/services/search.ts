// What a caller may search in: turns names of the request into a scope, then hands over to retrieval.

import type { Filter } from "../domain/filter.ts";
import type { ProjectId } from "../domain/ids.ts";
import type { ModeName, Ranking } from "../domain/ranking.ts";
import type { SearchScope } from "../domain/scope.ts";
import type { MemoryStore } from "../ports/memory-store.ts";
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
    const { userId, ...request } = question;
    const scope: SearchScope = {
      projectId,
      user: userId === undefined ? null : { id: userId, key: this.#parts.memories.userKey(projectId, userId) },
    };
    return search(this.#parts, { ...request, scope, signal });
  }
}
