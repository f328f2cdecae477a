// Computes the vectors of published memories with another model and adds them to the index. The texts for the model are
// those that ingestion would give it. model-change.ts decides when this happens and what follows.

import { type Chunk, type ChunkTexts, needsTitle, turnSentence } from "../domain/chunk.ts";
import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import type { Memory } from "../domain/memory.ts";
import type { Clock } from "../kit/clock.ts";
import type { ModelIndex, PublishedMemories, StoredChunk, StoredMemory } from "../ports/chunk-index.ts";
import type { Job, JobStore } from "../ports/job-store.ts";
import type { LlmExtractionStore } from "../ports/llm-extraction-store.ts";
import type { Embedder } from "../ports/models.ts";
import { type Prepared, PrepareFailure, type Preparer } from "../ports/preparer.ts";
import { embedChunks } from "./embed-chunks.ts";
import { areSame, batchesOf, prepareAgain } from "./published-texts.ts";

/** Maximum number of memories whose rows are read at once. */
const PAGE_MEMORIES = 64;
/** Maximum difference of the length of a vector from 1, as the index accepts it. */
const UNIT_TOLERANCE = 1e-2;

/** The model cannot be used. The message says why, for a person. */
export class UnusableModel extends Error {
  override readonly name = "UnusableModel";
}

/** What a builder needs. */
export interface VectorBuilderDependencies {
  readonly index: Pick<PublishedMemories, "stored">;
  readonly jobs: Pick<JobStore, "published">;
  readonly extractions: Pick<LlmExtractionStore, "previous">;
  readonly preparer: Preparer;
  readonly clock: Clock;
  /** Maximum number of chunks per second; null: as many as queries and ingestion leave time for. */
  readonly chunksPerSecond: number | null;
}

/** The vectors that are being built, and the memories that they lack. */
export interface BuildTask {
  readonly projectId: ProjectId;
  readonly project: ModelIndex;
  readonly embedder: Embedder;
  readonly memoryKeys: readonly MemoryKey[];
  readonly signal: AbortSignal;
  /** Called after each slice of chunks with their number; if it returns false, building stops. */
  readonly onChunks: (chunks: number) => Promise<boolean>;
}

/** A published memory with the texts that the model reads. */
interface Readable {
  readonly memoryKey: MemoryKey;
  readonly stored: readonly StoredChunk[];
  readonly chunks: readonly Chunk[];
  readonly texts: Pick<ChunkTexts, "embeddedText">;
}

/** Builds vectors of published memories. */
export class VectorBuilder {
  readonly #uses: VectorBuilderDependencies;

  constructor(uses: VectorBuilderDependencies) {
    this.#uses = uses;
  }

  /**
   * Computes and adds the vectors of these memories. A memory that changes meanwhile is left out.
   * @returns number of chunks that were added
   * @throws UnusableModel if the model's vectors are invalid; the reason of `signal` if it aborts
   */
  async build(task: BuildTask): Promise<number> {
    let added = 0;
    for (let first = 0; first < task.memoryKeys.length; first += PAGE_MEMORIES) {
      const keys = task.memoryKeys.slice(first, first + PAGE_MEMORIES);
      const jobs = await this.#uses.jobs.published(task.projectId, keys);
      for (const batch of batchesOf(jobs)) {
        task.signal.throwIfAborted();
        const result = await this.#buildBatch(task, batch);
        if (result === null) return added;
        added += result;
      }
    }
    return added;
  }

  /** Returns null if building has to stop. */
  async #buildBatch(task: BuildTask, jobs: readonly Job[]): Promise<number | null> {
    const { project, embedder, signal } = task;
    const stored = await this.#uses.index.stored(jobs.map(({ memory }) => memory.key));
    const readable = await this.#readable(task, jobs, stored);
    const pace = this.#paceOf(task);
    const embedded = await Promise.all(
      readable.map((memory) => {
        let done = 0;
        const { projectId } = task;
        return embedChunks(embedder, memory, { share: projectId, signal }, (chunksDone) => {
          const more = chunksDone - done;
          done = chunksDone;
          return pace(more);
        }).then(async (vectors) => {
          if (vectors === null || !(await pace(memory.chunks.length - done))) return null;
          return { memory, vectors };
        });
      }),
    );
    const complete = embedded.filter((each) => each !== null);
    const vectors = new Float32Array(complete.reduce((sum, each) => sum + each.vectors.length, 0));
    let at = 0;
    for (const each of complete) {
      checkVectors(embedder, each.vectors, each.memory.chunks.length);
      vectors.set(each.vectors, at);
      at += each.vectors.length;
    }
    const chunks = complete.flatMap(({ memory: { memoryKey, stored: places } }) =>
      places.map(({ chunkKey }) => ({ chunkKey, memoryKey })),
    );
    const keys = {
      chunkKeys: BigUint64Array.from(chunks, ({ chunkKey }) => chunkKey),
      memoryKeys: BigUint64Array.from(chunks, ({ memoryKey }) => memoryKey),
    };
    const added = await project.addVectors(keys, { fingerprint: embedder.fingerprint, vectors });
    return complete.length < embedded.length ? null : added;
  }

  /** Counts chunks, and waits if they were computed faster than the rate limit allows. */
  #paceOf({ onChunks, signal }: BuildTask): (chunks: number) => Promise<boolean> {
    const { clock, chunksPerSecond } = this.#uses;
    const startedAt = clock.now();
    let counted = 0;
    return async (chunks) => {
      counted += chunks;
      const goesOn = await onChunks(chunks);
      if (goesOn && chunksPerSecond !== null) {
        const dueAt = startedAt + (counted / chunksPerSecond) * 1000;
        if (dueAt > clock.now()) await clock.sleep(dueAt - clock.now(), signal);
      }
      return goesOn;
    };
  }

  /** The texts of the memories' chunks. Memories whose chunks are no longer in the index are left out. */
  async #readable(
    { project }: BuildTask,
    jobs: readonly Job[],
    stored: ReadonlyMap<MemoryKey, StoredMemory>,
  ): Promise<readonly Readable[]> {
    const readable: Readable[] = [];
    const prepared = await prepareAgain(this.#uses, jobs, stored);
    for (const { extracted, stored: inIndex, input, outcome } of prepared) {
      const { chunks: places } = inIndex;
      if (places.length === 0) continue;
      const { memory } = extracted.job;
      const memoryKey = memory.key;
      if (!(outcome instanceof PrepareFailure) && areSame(outcome.chunks, places)) {
        readable.push({ memoryKey, stored: places, chunks: outcome.chunks, texts: outcome.texts });
      } else {
        const fromIndex = await textsOfPassages(project, places, titlePrefix(memory, input.title, outcome));
        if (fromIndex !== null) readable.push({ memoryKey, stored: places, ...fromIndex });
      }
    }
    return readable;
  }
}

/**
 * The title as it is put before a passage, for chunks that preparation would cut in another way today.
 * @param given the title that preparation got; null if it extracts the title
 */
function titlePrefix(
  { title }: Memory,
  given: string | null,
  prepared: Prepared | PrepareFailure,
): (passage: string) => string {
  const text = given ?? title ?? "";
  const prefixes =
    prepared instanceof PrepareFailure ? [] : prepared.chunks.map((chunk) => prefixIn(prepared.texts, chunk));
  const prefix = prefixes.find((each) => each !== "") ?? (text.trim() === "" ? "" : `${text.trim()}. `);
  return (passage) => (needsTitle({ text, isGiven: given !== null }, passage) ? prefix : "");
}

function prefixIn(texts: ChunkTexts, chunk: Chunk): string {
  const [embedded, passage] = [texts.embeddedText(chunk), texts.passage(chunk)];
  return chunk.turn === undefined && embedded.endsWith(passage) ? embedded.slice(0, -passage.length) : "";
}

/**
 * The texts of chunks that preparation would cut in another way today: they are built from the stored passages. Returns
 * null if the index has other chunks by now.
 */
async function textsOfPassages(
  project: ModelIndex,
  places: readonly StoredChunk[],
  prefixOf: (passage: string) => string,
): Promise<Pick<Readable, "chunks" | "texts"> | null> {
  const passages = await project.passages(BigUint64Array.from(places, ({ chunkKey }) => chunkKey));
  const chunks: Chunk[] = [];
  const texts: string[] = [];
  for (const [ordinal, passage] of passages.entries()) {
    if (passage === null) return null;
    const { text, place } = passage;
    chunks.push({ ...place, ordinal, tokens: 0 });
    texts.push(place.turn === undefined ? prefixOf(text) + text : turnSentence(place.turn, text));
  }
  return { chunks, texts: { embeddedText: ({ ordinal }) => texts[ordinal] ?? "" } };
}

/** @throws UnusableModel unless there is one vector of unit length per chunk */
export function checkVectors({ id, dimensions }: Embedder, vectors: Float32Array, chunks: number): void {
  if (vectors.length !== chunks * dimensions) {
    throw new UnusableModel(
      `The model ${id} computes vectors of ${vectors.length / chunks} components instead of ${dimensions}: check the files in its folder.`,
    );
  }
  for (let row = 0; row < chunks; row++) {
    let squares = 0;
    for (let at = row * dimensions; at < (row + 1) * dimensions; at++) squares += (vectors[at] ?? 0) ** 2;
    const length = Math.sqrt(squares);
    // The comparison is written in this form because it also refuses NaN.
    if (Math.abs(length - 1) <= UNIT_TOLERANCE) continue;
    throw new UnusableModel(
      `The model ${id} computes a vector of length ${length} instead of 1: check the files in its folder.`,
    );
  }
}
