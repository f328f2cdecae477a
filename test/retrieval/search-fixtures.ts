// Helpers for the tests of retrieval: a search with default values, and vectors whose similarity is written in the
// text.

import type { Memory, MemoryDraft } from "../../src/domain/memory.ts";
import type { Ranking } from "../../src/domain/ranking.ts";
import type { SearchScope } from "../../src/domain/scope.ts";
import type { Reranker } from "../../src/ports/models.ts";
import type { SearchRequest } from "../../src/retrieval/request.ts";
import { search } from "../../src/retrieval/search.ts";
import type { IngestHarness } from "../ingest/ingest-harness.ts";

/** A reranker of a test; it supports English unless it says otherwise. */
export type TestReranker = Pick<Reranker, "score"> & Partial<Pick<Reranker, "languages">>;

/** A reranker that gives all passages the same logit. */
export const neutralReranker: TestReranker = {
  score: async (_query, passages, { onBegin } = {}) => {
    onBegin?.();
    return new Float32Array(passages.length);
  },
};

/** Deadline of the reranker in `searchIn`, in milliseconds. */
export const DEADLINE_MS = 60_000;

/** Searches the project of a harness. Default: the query "red kite", all users, mode balanced. */
export function searchIn(
  harness: IngestHarness,
  request: Partial<SearchRequest> = {},
  reranker: TestReranker | null = neutralReranker,
): Promise<Ranking> {
  const { index, memories, relations, history, accounts, embedders, clock, projectId } = harness;
  const rerankers = { for: () => reranker && { languages: ["en"], ...reranker } };
  return search(
    {
      index,
      memories,
      relations,
      history,
      accounts,
      embedders,
      rerankers,
      clock,
      languageOf: () => "und",
      rerankDeadlineMs: DEADLINE_MS,
    },
    {
      ...{ query: "red kite", mode: "balanced", limit: 10, scoreMin: 0, includeGraph: false, filter: null },
      scope: { projectId, user: null },
      ...request,
    },
  );
}

/** Scope of a user in the project of a harness. */
export async function userScope(harness: IngestHarness, id: string): Promise<SearchScope> {
  return { projectId: harness.projectId, user: { id, key: await harness.memories.userKey(harness.projectId, id) } };
}

/** Stores memories and waits until they are searchable. */
export async function storeIn(harness: IngestHarness, ...drafts: readonly MemoryDraft[]): Promise<readonly Memory[]> {
  const accepted = await harness.accept(...drafts);
  for (const memory of accepted) await harness.settled(memory);
  return accepted;
}

/**
 * Changes the harness's embedder: a text that contains `near .93` has the cosine similarity .93 to the
 * query, and a text without such a mark has .1.
 */
export function embedMarkedSimilarities(harness: IngestHarness, query = "red kite"): void {
  const along = (cosine: number) => {
    const vector = new Float32Array(harness.embedder.dimensions);
    vector.set([cosine, Math.sqrt(1 - cosine ** 2)]);
    return vector;
  };
  harness.embedder.vectorOf = (text) => along(text === query ? 1 : Number(/near (\.\d+)/.exec(text)?.[1] ?? 0.1));
}
