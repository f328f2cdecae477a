// Reads the published memories of the indexes as packed publications (ports/shared-index.ts). Vectors are copied. The
// texts of chunks are prepared again, because the index does not keep all of them. A memory that this version would cut
// into other chunks is skipped; the store to which it is moved indexes it again.

import { setTimeout as sleep } from "node:timers/promises";
import { sharedMemory } from "../../adapters/embedded/publication.ts";
import type { MemoryKey, ProjectId } from "../../domain/ids.ts";
import { areSame, batchesOf, type PreparedAgain, prepareAgain } from "../../ingest/published-texts.ts";
import { readyMemory } from "../../ingest/step-inputs.ts";
import type { IndexOf, ModelIndex, ModelVectors, PublishedMemories } from "../../ports/chunk-index.ts";
import { PrepareFailure, type Preparer } from "../../ports/preparer.ts";
import type { Stores } from "../../ports/transactions.ts";
import { packTexts, packVectors, partsOf } from "../../stores/postgres/publication-parts.ts";
import type { Frame } from "../frames.ts";

/** Maximum number of memories whose rows are read at once. */
const PAGE_MEMORIES = 64;
/** Pause between two batches in milliseconds, so that the requests of the server come first. */
const REST_MS = 1;

/** A publication without its bytes. */
export interface PublicationLine {
  readonly type: "publication";
  /** Place from which reading continues after this publication: `<project>/<memory key>`. */
  readonly place: string;
  readonly memory_key: string;
  readonly first_chunk_key: string;
  readonly chunks: number;
  /** Number of parts with texts, and for each model number of parts with vectors. */
  readonly texts: number;
  readonly vectors: readonly { readonly fingerprint: string; readonly parts: number }[];
}

/** A memory without a publication, which the new store indexes again. */
export interface SkippedLine {
  readonly type: "skipped";
  readonly place: string;
}

/** A publication with the bytes of its parts, in the order of the line. */
export type PackedPublication = Frame<PublicationLine | SkippedLine>;

/** The stores and indexes from which publications are read. */
export interface PublicationSource {
  readonly stores: Pick<Stores, "accounts" | "memories" | "jobs" | "extractions">;
  readonly index: IndexOf<ModelIndex> & Pick<PublishedMemories, "stored">;
  readonly preparer: Preparer;
}

/**
 * All publications in the order of projects and keys.
 * @param after place after which reading begins; empty: at the first
 */
export async function* packedPublications(source: PublicationSource, after: string): AsyncGenerator<PackedPublication> {
  const projects = [...(await source.stores.accounts.projects())].sort();
  const [lastProject = "", lastKey = "0"] = after.split("/");
  for (const id of projects) {
    if (id < lastProject) continue;
    let afterKey: MemoryKey | null = id === lastProject ? (BigInt(lastKey) as MemoryKey) : null;
    for (;;) {
      const page = await source.stores.memories.visible(id, { afterKey, limit: PAGE_MEMORIES });
      const keys = page.map(({ memoryKey }) => memoryKey);
      for (const batch of batchesOf(await source.stores.jobs.published(id, keys))) {
        yield* ofBatch(source, id, batch);
        await sleep(REST_MS);
      }
      if (page.length < PAGE_MEMORIES) break;
      afterKey = keys.at(-1) ?? null;
    }
  }
}

async function* ofBatch(
  { stores, index, preparer }: PublicationSource,
  id: ProjectId,
  jobs: ReturnType<typeof batchesOf>[number],
): AsyncGenerator<PackedPublication> {
  const stored = await index.stored(jobs.map(({ memory }) => memory.key));
  const prepared = await prepareAgain({ preparer, extractions: stores.extractions }, jobs, stored);
  const project = await index.project(id);
  for (const memory of prepared) {
    if (memory.stored.chunks.length > 0) yield await packed(project, id, memory);
  }
}

async function packed(
  project: ModelIndex,
  id: ProjectId,
  { extracted, stored: { chunks: places }, outcome }: PreparedAgain,
): Promise<PackedPublication> {
  const { key } = extracted.job.memory;
  const place = `${id}/${key}`;
  const skipped: PackedPublication = { value: { type: "skipped", place }, bytes: [] };
  if (outcome instanceof PrepareFailure || !areSame(outcome.chunks, places) || !areConsecutive(places)) return skipped;
  const vectors = await vectorsOf(project, key, places);
  if (vectors.length === 0) return skipped;
  const { publication } = readyMemory(extracted, outcome, vectors);
  const chunks = places.flatMap(({ chunkKey }, at) => {
    const chunk = publication.chunks[at];
    return chunk === undefined ? [] : [{ chunkKey, chunk }];
  });
  const shared = sharedMemory(id, { publication, chunks });
  const numbers = Array.from({ length: partsOf(chunks.length) }, (_, part) => part);
  const texts = numbers.map((part) => packTexts(shared, part));
  const ofModels = vectors.map((each) => ({
    fingerprint: each.fingerprint,
    parts: numbers.map((part) => packVectors(each, chunks.length, part)),
  }));
  const value: PublicationLine = {
    ...{ type: "publication", place, memory_key: String(key), first_chunk_key: String(places[0]?.chunkKey) },
    chunks: chunks.length,
    texts: texts.length,
    vectors: ofModels.map(({ fingerprint, parts }) => ({ fingerprint, parts: parts.length })),
  };
  return { value, bytes: [...texts, ...ofModels.flatMap((each) => each.parts)] };
}

/** Whether the keys of chunks follow each other, so that the first one identifies a publication, as nodes need it. */
function areConsecutive(places: readonly { readonly chunkKey: bigint }[]): boolean {
  return places.every(({ chunkKey }, at) => chunkKey === (places[0]?.chunkKey ?? 0n) + BigInt(at));
}

/** The vectors of a memory by the live model and by the one that is being built; empty if live ones are missing. */
async function vectorsOf(
  project: ModelIndex,
  key: MemoryKey,
  places: readonly { readonly chunkKey: bigint }[],
): Promise<readonly ModelVectors[]> {
  const chunkKeys = BigUint64Array.from(places, ({ chunkKey }) => chunkKey);
  const chunks = { chunkKeys, memoryKeys: new BigUint64Array(places.length).fill(key) };
  const { live, building } = await project.models();
  const found: ModelVectors[] = [];
  for (const { fingerprint } of building === null ? [live] : [live, building]) {
    const vectors = await project.storedVectors(fingerprint, chunks);
    if (!vectors.some(Number.isNaN)) found.push({ fingerprint, vectors });
    else if (fingerprint === live.fingerprint) return [];
  }
  return found;
}
