// How the tests of retrieval ask: a search with defaults, and vectors of which a text itself says how near it is.

import type { Memory, MemoryDraft } from "../../src/domain/memory.ts";
import type { Ranking } from "../../src/domain/ranking.ts";
import type { SearchScope } from "../../src/domain/scope.ts";
import type { Reranker } from "../../src/ports/models.ts";
import type { SearchRequest } from "../../src/retrieval/request.ts";
import { search } from "../../src/retrieval/search.ts";
import type { Workshop } from "../ingest/workshop.ts";

/** To whom all passages are alike. */
export const indifferent: Reranker = {
  score: async (_query, passages, _signal, onBegin) => {
    onBegin?.();
    return new Float32Array(passages.length);
  },
};

/** Searches a workshop's project, by default for "red kite", everywhere, in balanced. */
export function askIn(
  shop: Workshop,
  request: Partial<SearchRequest> = {},
  reranker: Reranker = indifferent,
): Promise<Ranking> {
  const { index, memories, embedder, clock, projectId } = shop;
  return search(
    { index, memories, embedder, reranker, clock, languageOf: () => "und" },
    {
      ...{ query: "red kite", mode: "balanced", limit: 10, scoreMin: 0, includeGraph: false, filter: null },
      scope: { projectId, user: null },
      ...request,
    },
  );
}

/** The scope of a user of a workshop's project. */
export function ofUser(shop: Workshop, id: string): SearchScope {
  return { projectId: shop.projectId, user: { id, key: shop.memories.userKey(shop.projectId, id) } };
}

/** Stores memories and waits until they are searchable. */
export async function storeIn(shop: Workshop, ...drafts: readonly MemoryDraft[]): Promise<readonly Memory[]> {
  const accepted = shop.accept(...drafts);
  for (const memory of accepted) await shop.settled(memory);
  return accepted;
}

/** From here on a text that says `near .93` has this cosine to every question, and any other text .1. */
export function chooseNearness(shop: Workshop): void {
  const along = (cosine: number) => {
    const vector = new Float32Array(shop.embedder.dimensions);
    vector.set([cosine, Math.sqrt(1 - cosine ** 2)]);
    return vector;
  };
  shop.embedder.vectorOf = (text) => along(text === "red kite" ? 1 : Number(/near (\.\d+)/.exec(text)?.[1] ?? 0.1));
}
