// One question to a server, and all that benches look at in the answer: the documents it ranks, the signals behind them,
// and where the time went.

import { type Client, isRecord } from "../../src/cli/client.ts";
import type { ModeName } from "../../src/domain/ranking.ts";
import type { LegSignal, Passage } from "./baselines.ts";
import type { DocumentOf } from "./served-collection.ts";

/** A search as a bench asks it. */
export interface Search {
  readonly query: string;
  readonly mode: ModeName;
  readonly limit: number;
  readonly includeGraph?: boolean;
  /** Whose memories are searched: `userId`, or `filters`; neither: everybody's. */
  readonly within?: { readonly userId?: string; readonly filters?: unknown };
}

/** What came back. */
export interface Asked {
  readonly passages: readonly (Passage & { readonly score: number; readonly isReranked: boolean })[];
  /** Best first; a document with several passages stands where its best one does. */
  readonly documents: readonly string[];
  /** As the caller sees it. */
  readonly wholeMs: number;
  /** The stages that the search went through, in their order. */
  readonly stages: readonly { readonly name: string; readonly ms: number; readonly candidates: number }[];
  /** Memories that the search could see. */
  readonly admissible: number;
}

/** Asks, with `explain`. */
export async function ask(client: Client, search: Search, documentOf: DocumentOf): Promise<Asked> {
  const { within = {}, ...question } = search;
  const startedAt = performance.now();
  const answer = await client.send("POST", "/v1/memories/search", { ...question, ...within, explain: true });
  const wholeMs = performance.now() - startedAt;
  const passages = records(answer.results).map((result) => {
    const signals = isRecord(result.explain) && isRecord(result.explain.signals) ? result.explain.signals : {};
    return {
      id: String(result.id),
      memoryId: String(result.memory_id),
      document: documentOf(result),
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
    stages: records(explain.stages).map((stage) => ({
      name: String(stage.name),
      ms: Number(stage.ms),
      candidates: Number(stage.candidates),
    })),
    admissible: Number(explain.admissible),
  };
}

/** Whether the reranker took part and was given up: what a busy machine does to an answer. */
export function missedReranker({ passages, stages }: Asked): boolean {
  const wasAsked = stages.some(({ name, candidates }) => name === "rerank" && candidates > 0);
  return wasAsked && !passages.some(({ isReranked }) => isReranked);
}

function legSignal(value: unknown): LegSignal | null {
  return isRecord(value) ? { rank: Number(value.rank), score: Number(value.score) } : null;
}

function records(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
