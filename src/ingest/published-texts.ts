// Prepares the texts of published memories again, as ingestion did, so that parts of the index can be computed again.

import type { Chunk } from "../domain/chunk.ts";
import type { MemoryKey } from "../domain/ids.ts";
import type { StoredChunk, StoredMemory } from "../ports/chunk-index.ts";
import type { Job } from "../ports/job-store.ts";
import type { LlmExtractionStore } from "../ports/llm-extraction-store.ts";
import { type Prepared, PrepareFailure, type PrepareInput, type Preparer } from "../ports/preparer.ts";
import { type ExtractedJob, prepareInputOf, readJobOf, withExtraction } from "./step-inputs.ts";

/**
 * Maximum number of chunks, and of UTF-8 bytes of texts, that are embedded as one batch; a larger memory is a batch of
 * its own. Two lanes (processes that run models) take about a second for a batch, so that a stop or a rate limit acts
 * soon.
 */
const BATCH_CHUNKS_MAX = 64;
const BATCH_BYTES_MAX = 1024 * 1024;

/** A published memory, and the result of preparing its text again. */
export interface PreparedAgain {
  readonly extracted: ExtractedJob;
  readonly stored: StoredMemory;
  readonly input: PrepareInput;
  readonly outcome: Prepared | PrepareFailure;
}

/** Prepares memories with the inputs that ingestion would use. Memories without a stored text are left out. */
export async function prepareAgain(
  uses: { readonly preparer: Preparer; readonly extractions: Pick<LlmExtractionStore, "previous"> },
  jobs: readonly Job[],
  stored: ReadonlyMap<MemoryKey, StoredMemory>,
): Promise<readonly PreparedAgain[]> {
  const memories = await Promise.all(
    jobs.flatMap((job) => {
      const memory = stored.get(job.memory.key);
      return memory === undefined ? [] : [inputOf(uses.extractions, job, memory)];
    }),
  );
  const outcomes = memories.length === 0 ? [] : await uses.preparer.prepare(memories.map(({ input }) => input));
  return memories.map((memory, at) => ({
    ...memory,
    outcome: outcomes[at] ?? new PrepareFailure("preparation returned nothing"),
  }));
}

async function inputOf(extractions: Pick<LlmExtractionStore, "previous">, job: Job, stored: StoredMemory) {
  const isByLlm = job.memory.state.status === "completed" && job.memory.state.extraction === "llm";
  const extraction = isByLlm ? ((await extractions.previous(job))?.extraction ?? null) : null;
  // a memory that was stored without smart ingestion has no title
  const isSmart = job.memory.title !== null;
  const extracted: ExtractedJob = { ...readJobOf(job, stored.content), isSmart, extraction };
  return { extracted, stored, input: withExtraction(prepareInputOf(extracted, isSmart), extraction) };
}

/** Groups jobs into batches, in order. */
export function batchesOf(jobs: readonly Job[]): readonly (readonly Job[])[] {
  const batches: Job[][] = [];
  let [chunks, bytes] = [0, 0];
  for (const job of jobs) {
    const { state, contentBytes } = job.memory;
    const jobChunks = state.status === "completed" ? state.chunkCount : 1;
    chunks += jobChunks;
    bytes += contentBytes;
    const last = batches.at(-1);
    if (last !== undefined && chunks <= BATCH_CHUNKS_MAX && bytes <= BATCH_BYTES_MAX) {
      last.push(job);
    } else {
      batches.push([job]);
      [chunks, bytes] = [jobChunks, contentBytes];
    }
  }
  return batches;
}

/** Whether preparation cuts a text into the chunks that are stored. */
export function areSame(prepared: readonly Chunk[], stored: readonly StoredChunk[]): boolean {
  return (
    prepared.length === stored.length &&
    prepared.every(({ start, end }, at) => start === stored[at]?.start && end === stored[at]?.end)
  );
}
