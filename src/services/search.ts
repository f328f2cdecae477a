// What a caller may search in: turns names of the request into a scope, then hands over to retrieval.

import type { ProjectId } from "../domain/ids.ts";
import type { SearchScope } from "../domain/scope.ts";
import type { MemoryStore } from "../ports/memory-store.ts";
import type { RunnableMode } from "../retrieval/modes.ts";
import { type Ranking, type RetrievalParts, search } from "../retrieval/plan.ts";

/** A search as a caller words it. */
export interface SearchQuestion {
  readonly query: string;
  readonly mode: RunnableMode;
  readonly limit: number;
  readonly scoreMin: number;
  readonly userId?: string;
}

/** Searches within a project. */
export class SearchService {
  readonly #parts: RetrievalParts & { readonly memories: Pick<MemoryStore, "getMany" | "userKey"> };

  constructor(parts: RetrievalParts & { readonly memories: Pick<MemoryStore, "getMany" | "userKey"> }) {
    this.#parts = parts;
  }

  /** Ranked passages. Throws Fault `overloaded` or `model_unavailable`; stops when `signal` aborts. */
  search(projectId: ProjectId, question: SearchQuestion, signal: AbortSignal): Promise<Ranking> {
    const { userId, ...request } = question;
    const scope: SearchScope = {
      projectId,
      user: userId === undefined ? null : { id: userId, key: this.#parts.memories.userKey(projectId, userId) },
    };
    return search(this.#parts, { ...request, scope, signal });
  }
}
