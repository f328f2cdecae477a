// How things look in answers: rows of the stores to the interface's fields.

import { chunkIdOf } from "../domain/ids.ts";
import type { JsonObject, Memory, Progress } from "../domain/memory.ts";
import type { RankedPassage, Ranking } from "../domain/ranking.ts";
import { isoTime } from "../kit/clock.ts";
import type { MemoryWithContent } from "../services/memories.ts";

/** A Memory of the interface. `progress` is asked for only while it is in work. */
export function memoryView({ memory, content }: MemoryWithContent, progressOf: (memory: Memory) => Progress): object {
  const { state } = memory;
  return {
    id: memory.id,
    status: state.status,
    content,
    title: memory.title,
    type: memory.type,
    tags: memory.tags,
    metadata: memory.metadata ?? {},
    userId: memory.userId,
    language: memory.language,
    externalId: memory.externalId,
    created_at: isoTime(memory.createdAt),
    updated_at: isoTime(memory.updatedAt),
    expires_at: memory.expiresAt === null ? null : isoTime(memory.expiresAt),
    ...(state.status === "completed" ? { chunk_count: state.chunkCount } : {}),
    ...(state.status === "failed" ? { error: state.error } : {}),
    ...(state.status === "processing" ? { progress: progressView(progressOf(memory)) } : {}),
  };
}

function progressView(progress: Progress): object {
  return { stage: progress.stage, chunks_done: progress.chunksDone, chunks_total: progress.chunksTotal };
}

/** SearchResults of the interface; `explain` adds the plan's record. */
export function searchView(ranking: Ranking, mode: string, isExplained: boolean): object {
  return {
    results: ranking.results.map((result) => resultView(result, isExplained)),
    total_results: ranking.results.length,
    ...(isExplained ? { explain: { mode, stages: ranking.stages, admissible: ranking.admissible } } : {}),
  };
}

function resultView(result: RankedPassage, isExplained: boolean): object {
  const { memory, place } = result;
  const metadata: JsonObject = {
    ...memory.metadata,
    _memory: {
      title: memory.title,
      type: memory.type,
      tags: memory.tags,
      userId: memory.userId,
      language: memory.language,
      created_at: isoTime(memory.createdAt),
    },
    _chunk: {
      ordinal: place.ordinal,
      start: place.start,
      end: place.end,
      ...(place.headings.length === 0 ? {} : { headings: place.headings }),
    },
  };
  return {
    id: chunkIdOf(result.chunkKey),
    content: result.text,
    score: result.score,
    memory_id: memory.id,
    metadata,
    ...(isExplained ? { explain: { signals: result.signals, fused_rank: result.fusedRank } } : {}),
  };
}
