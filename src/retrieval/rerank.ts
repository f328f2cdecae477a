// Reranking: chooses the texts that the reranker reads, calls it with a deadline, and blends its logits into the order.

import { indexedText, turnText } from "../domain/chunk.ts";
import { Fault, invariant } from "../domain/fault.ts";
import type { Reranker } from "../ports/models.ts";
import { isLanguageSupported } from "./coverage.ts";
import type { GraphWalk } from "./graph-walk.ts";
import type { Hydrated } from "./hydration.ts";
import { blendRerank, type Candidate, earlyExitFor, NO_GRAPH, rerankedCount } from "./rank.ts";
import type { Search } from "./request.ts";

/**
 * Reranks the candidates and returns them in their new order. If the reranker misses the mode's deadline, the order
 * stays the same and `explain` shows no rerank signal, because a late answer is worth less than one without reranking.
 */
export async function rerank(
  { request, mode, watch }: Search,
  reranker: Reranker,
  candidates: readonly Candidate[],
  hydrated: ReadonlyMap<bigint, Hydrated>,
  walk: GraphWalk | null,
): Promise<readonly Candidate[]> {
  const deepest = candidates.slice(0, mode.rerankDepth);
  const readable = deepest.filter(({ chunkKey }) => isReadable(hydrated.get(chunkKey), reranker));
  const texts = readable.map(({ chunkKey }) => textToRerank(hydrated.get(chunkKey)));
  const readCount = rerankedCount(request.query, texts, mode.rerankTokensMax);
  const read = readable.slice(0, readCount);
  const graph = walk ?? NO_GRAPH;
  if (readCount === 0) {
    watch.lap("rerank", 0);
    return candidates;
  }
  const deadline = AbortSignal.timeout(mode.rerankDeadlineMs);
  const signal = request.signal === undefined ? deadline : AbortSignal.any([deadline, request.signal]);
  try {
    const earlyExit = earlyExitFor(read, mode, graph);
    const onBegin = () => watch.lap("queue", 1);
    const logits = await reranker.score(request.query, texts.slice(0, readCount), signal, onBegin, earlyExit);
    const logitOf = new Map(read.map(({ chunkKey }, position) => [chunkKey, logits[position] ?? Number.NaN]));
    const firstBeyondBudget = readable[readCount];
    const head = firstBeyondBudget === undefined ? deepest : deepest.slice(0, deepest.indexOf(firstBeyondBudget));
    const headLogits = head.map(({ chunkKey }) => logitOf.get(chunkKey) ?? null);
    return blendRerank(candidates, headLogits, mode, graph);
  } catch (error) {
    if (deadline.aborted && !(error instanceof Fault)) return candidates;
    throw error;
  } finally {
    watch.lap("rerank", readCount);
  }
}

// A passage in a language that the reranker was not made for gets no logit: it would be too low.
function isReadable(found: Hydrated | undefined, { languages }: Reranker): boolean {
  invariant(found, "a candidate for reranking has its text");
  return isLanguageSupported(found.passage.text, found.memory.language ?? "und", languages);
}

// The reranker reads 128 tokens, including the query: at most half of a full chunk. So if a memory has several chunks,
// the reranker reads them without title and headings, whose words already count in the hybrid score. Measured by
// bench/long-documents.ts.
function textToRerank(found: Hydrated | undefined): string {
  invariant(found, "a candidate for reranking has its text");
  const { memory, passage } = found;
  const { place, text } = passage;
  if (place.turn !== undefined) return turnText(place.turn, text);
  const isWholeMemory = memory.state.status === "completed" && memory.state.chunkCount === 1;
  return isWholeMemory ? indexedText(memory.title, place.headings, text) : text;
}
