// What a caller may search in: turns names of the request into a scope, then hands over to retrieval.

import { Fault } from "../domain/fault.ts";
import type { ProjectId } from "../domain/ids.ts";
import type { ModeName, Ranking } from "../domain/ranking.ts";
import type { SearchScope } from "../domain/scope.ts";
import type { MemoryStore } from "../ports/memory-store.ts";
import { MODES, type RunnableMode } from "../retrieval/modes.ts";
import { type RetrievalParts, search } from "../retrieval/plan.ts";

/** A search as a caller words it. */
export interface SearchQuestion {
  readonly query: string;
  readonly mode: ModeName;
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

  /**
   * Ranked passages; stops when `signal` aborts.
   * @throws Fault `invalid_request` for a mode that this version cannot run, `overloaded` or `model_unavailable`.
   */
  async search(projectId: ProjectId, question: SearchQuestion, signal: AbortSignal): Promise<Ranking> {
    const { userId, mode: modeName, ...request } = question;
    const mode = runnable(modeName);
    const scope: SearchScope = {
      projectId,
      user: userId === undefined ? null : { id: userId, key: this.#parts.memories.userKey(projectId, userId) },
    };
    return search(this.#parts, { ...request, mode, scope, signal });
  }
}

// What is not there yet is refused, never replaced by something weaker behind the caller's back.
function runnable(name: ModeName): RunnableMode {
  if (Object.hasOwn(MODES, name)) return name as RunnableMode;
  const known = Object.keys(MODES).map((mode) => `"${mode}"`);
  throw new Fault("invalid_request", `This version has no mode "${name}" yet; use ${known.join(" or ")}.`, {
    param: "mode",
  });
}
