// Reranking: chooses the texts that the reranker reads, calls it with a deadline, and blends its logits into the order.

import { indexedText, turnText } from "../domain/chunk.ts";
import { invariant } from "../domain/fault.ts";
import type { Reranker } from "../ports/models.ts";
import { isLanguageSupported } from "./coverage.ts";
import type { GraphWalk } from "./graph-walk.ts";
import type { Hydrated } from "./hydration.ts";
import { blendRerank, type Candidate, earlyExitFor, NO_GRAPH, rerankedCount } from "./rank.ts";
import type { Search } from "./request.ts";

/**
 * Reranks the candidates and returns them in their new order. Passages that the reranker has not read by the
 * deadline are ranked as if it had no opinion on them, and get no rerank signal, because a late answer is worth less
 * than one with less reranking. `explain` shows how many were read and how many skipped.
 */
export async function rerank(
  { parts, request, mode, watch }: Search,
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
  const logits = await reranker.score(request.query, texts.slice(0, readCount), {
    signal: request.signal,
    onBegin: () => watch.lap("queue", 1),
    earlyExit: earlyExitFor(read, mode, graph),
    deadlineMs: parts.rerankDeadlineMs,
  });
  const scored = [...logits.entries()].filter(([, logit]) => !Number.isNaN(logit));
  watch.lap("rerank", scored.length, readCount - scored.length);
  if (scored.length === 0) return candidates;
  const logitOf = new Map(scored.map(([position, logit]) => [read[position]?.chunkKey, logit]));
  const firstBeyondBudget = readable[readCount];
  const head = firstBeyondBudget === undefined ? deepest : deepest.slice(0, deepest.indexOf(firstBeyondBudget));
  const headLogits = head.map(({ chunkKey }) => logitOf.get(chunkKey) ?? null);
  return blendRerank(candidates, headLogits, mode, graph);
}

// A passage in a language that the reranker was not made for gets no logit: it would be too low.
function isReadable(found: Hydrated | undefined, { languages }: Reranker): boolean {
  invariant(found, "a candidate for reranking has its text");
  return isLanguageSupported(found.passage.text, found.memory.language ?? "und", languages);
}

// The reranker reads 128 tokens, including the query: at most half of a full chunk. So if a memory has several chunks,
// the reranker reads them without title and headings, whose words already count in the hybrid score. Measured in
// docs/measurements.md.
function textToRerank(found: Hydrated | undefined): string {
  invariant(found, "a candidate for reranking has its text");
  const { memory, passage } = found;
  const { place, text } = passage;
  if (place.turn !== undefined) return turnText(place.turn, text);
  const isWholeMemory = memory.state.status === "completed" && memory.state.chunkCount === 1;
  return isWholeMemory ? indexedText(memory.title, place.headings, text) : text;
}
