// How the tests of retrieval ask: a search with defaults, and vectors of which a text itself says how near it is.

import type { Memory, MemoryDraft } from "../../src/domain/memory.ts";
import type { Ranking } from "../../src/domain/ranking.ts";
import type { SearchScope } from "../../src/domain/scope.ts";
import type { Reranker } from "../../src/ports/models.ts";
import type { SearchRequest } from "../../src/retrieval/request.ts";
import { search } from "../../src/retrieval/search.ts";
import type { IngestHarness } from "../ingest/ingest-harness.ts";

/** To whom all passages are alike. */
export const indifferent: Reranker = {
  score: async (_query, passages, _signal, onBegin) => {
    onBegin?.();
    return new Float32Array(passages.length);
  },
};

/** Searches a harness's project, by default for "red kite", everywhere, in balanced. */
export function askIn(
  harness: IngestHarness,
  request: Partial<SearchRequest> = {},
  reranker: Reranker = indifferent,
): Promise<Ranking> {
  const { index, memories, embedder, clock, projectId } = harness;
  return search(
    { index, memories, embedder, reranker, clock, languageOf: () => "und" },
    {
      ...{ query: "red kite", mode: "balanced", limit: 10, scoreMin: 0, includeGraph: false, filter: null },
      scope: { projectId, user: null },
      ...request,
    },
  );
}

/** The scope of a user of a harness's project. */
export function ofUser(harness: IngestHarness, id: string): SearchScope {
  return { projectId: harness.projectId, user: { id, key: harness.memories.userKey(harness.projectId, id) } };
}

/** Stores memories and waits until they are searchable. */
export async function storeIn(harness: IngestHarness, ...drafts: readonly MemoryDraft[]): Promise<readonly Memory[]> {
  const accepted = harness.accept(...drafts);
  for (const memory of accepted) await harness.settled(memory);
  return accepted;
}

/** From here on a text that says `near .93` has this cosine to every question, and any other text .1. */
export function chooseNearness(harness: IngestHarness): void {
  const along = (cosine: number) => {
    const vector = new Float32Array(harness.embedder.dimensions);
    vector.set([cosine, Math.sqrt(1 - cosine ** 2)]);
    return vector;
  };
  harness.embedder.vectorOf = (text) => along(text === "red kite" ? 1 : Number(/near (\.\d+)/.exec(text)?.[1] ?? 0.1));
}
