// Sends one search to a server and extracts what benches need: ranked documents, signals, and stage times.

import type { Client } from "../../src/cli/client.ts";
import type { ModeName } from "../../src/domain/ranking.ts";
import { isRecord, type JsonRecord, recordsIn } from "../../src/kit/record.ts";
import type { LegSignal, Passage } from "./baselines.ts";

/** Maps a search result to a document of the collection. */
export type DocumentOf = (result: JsonRecord) => string;

/** A search request of a bench. */
export interface Search {
  readonly query: string;
  readonly mode: ModeName;
  readonly limit: number;
  readonly includeGraph?: boolean;
  /** Scope of the search: `userId` or `filters`. Default: all memories. */
  readonly within?: { readonly userId?: string; readonly filters?: unknown };
}

/** A found passage. */
export interface Hit extends Passage {
  readonly content: string;
  readonly title: string | null;
  /** Position of the passage's first code point in its memory. */
  readonly start: number;
  readonly score: number;
  readonly isReranked: boolean;
}

/** The response to a search. */
export interface SearchReply {
  readonly passages: readonly Hit[];
  /** Document ids, best first. A document with several passages has the rank of its best passage. */
  readonly documents: readonly string[];
  /** Duration of the request, as measured by the caller. */
  readonly wholeMs: number;
  /** Stages of the search, in order. */
  readonly stages: readonly { readonly name: string; readonly ms: number; readonly candidates: number }[];
  /** Number of memories that the search may return: those that key, user and filters admit. */
  readonly admissible: number;
}

/** Sends a search with `explain`. */
export async function ask(client: Client, search: Search, documentOf: DocumentOf): Promise<SearchReply> {
  const { within = {}, ...question } = search;
  const startedAt = performance.now();
  const answer = await client.send("POST", "/v1/memories/search", { ...question, ...within, explain: true });
  return replyOf(answer, documentOf, performance.now() - startedAt);
}

/** Extracts a reply from the response to a search with `explain`. */
export function replyOf(answer: JsonRecord, documentOf: DocumentOf, wholeMs: number): SearchReply {
  const passages = recordsIn(answer.results).map((result) => {
    const signals = isRecord(result.explain) && isRecord(result.explain.signals) ? result.explain.signals : {};
    const { _memory: memory, _chunk: chunk } = isRecord(result.metadata) ? result.metadata : {};
    return {
      id: String(result.id),
      memoryId: String(result.memory_id),
      document: documentOf(result),
      content: String(result.content),
      title: isRecord(memory) && typeof memory.title === "string" ? memory.title : null,
      start: isRecord(chunk) ? Number(chunk.start) : 0,
      score: Number(result.score),
      vector: legSignal(signals.vector),
      text: legSignal(signals.text),
      isReranked: signals.rerank !== undefined,
    };
  });
  const explain = isRecord(answer.explain) ? answer.explain : {};
  return {
    passages,
    documents: [...new Set(passages.map(({ document }) => document))],
    wholeMs,
    stages: recordsIn(explain.stages).map((stage) => ({
      name: String(stage.name),
      ms: Number(stage.ms),
      candidates: Number(stage.candidates),
    })),
    admissible: Number(explain.admissible),
  };
}

/** Whether there were passages to rerank, but no result was reranked, as happens if a busy machine takes too long. */
export function missedReranker({ passages, stages }: SearchReply): boolean {
  const wasAsked = stages.some(({ name, candidates }) => name === "rerank" && candidates > 0);
  return wasAsked && !passages.some(({ isReranked }) => isReranked);
}

function legSignal(value: unknown): LegSignal | null {
  return isRecord(value) ? { rank: Number(value.rank), score: Number(value.score) } : null;
}
