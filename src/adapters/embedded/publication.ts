// Turns publications into what the archive and the native core store: keys, texts and places of chunks.
// project-index.ts calls it.

import type { Chunk } from "../../domain/chunk.ts";
import type { ChunkKey, MemoryKey, ProjectId } from "../../domain/ids.ts";
import { groupsWithin } from "../../kit/groups.ts";
import type { ChunkKeys, KnownEntities, ModelVectors, Publication, Rebuild } from "../../ports/chunk-index.ts";
import {
  type LoadedPublication,
  PART_CHUNKS,
  type ReplacingMemory,
  type SharedMemory,
  type SharedState,
  type WantedPublication,
} from "../../ports/shared-index.ts";
import type { ArchivedMemory } from "../../ports/text-archive.ts";
import type { PublishChunk, PublishedMemories } from "../native/addon-types.ts";
import type { PublishChunks } from "../native/chunks.ts";
import { packPlace } from "./chunk-place.ts";
import type { PublicationName } from "./held-publications.ts";
import { concatenate } from "./model-vectors.ts";

/** The parts of a publication that the native core indexes. */
type ToIndex = Omit<Publication, "version" | "lease" | "content">;

/** A publication whose chunks have keys. */
export interface KeyedPublication<Given = ToIndex> {
  readonly publication: Given;
  readonly chunks: readonly { readonly chunkKey: ChunkKey; readonly chunk: Chunk }[];
}

/** Pairs the chunks of a memory that is written again with the keys that they have. */
export function withOwnKeys(publication: Rebuild): KeyedPublication<Rebuild> {
  const { chunks, chunkKeys } = publication;
  return {
    publication,
    chunks: chunks.map((chunk, at) => ({ chunkKey: chunkKeys[at] ?? (0n as ChunkKey), chunk })),
  };
}

interface ChunkToPublish {
  readonly chunkKey: ChunkKey;
  readonly chunk: Chunk;
  readonly publication: ToIndex;
}

/** Gives the chunks of a publication consecutive keys. */
export function withKeys<Given extends ToIndex>(publication: Given, firstKey: bigint): KeyedPublication<Given> {
  return {
    publication,
    chunks: publication.chunks.map((chunk, at) => ({ chunkKey: (firstKey + BigInt(at)) as ChunkKey, chunk })),
  };
}

/** A chunk as the native core publishes it, with its texts. */
export function publishChunk({
  chunkKey,
  chunk,
  publication: { memoryKey, language, texts },
}: ChunkToPublish): PublishChunk {
  const passage = texts.passage(chunk);
  return {
    chunkKey,
    memoryKey,
    own: texts.searchText(chunk),
    context: texts.contextText(chunk),
    language,
    passage,
    place: packPlace(chunk, passage),
  };
}

/** A memory as the archive stores it. */
export function archivedMemory(
  projectId: ProjectId,
  { publication: { memoryKey, version, content }, chunks }: KeyedPublication<Publication>,
): ArchivedMemory {
  return {
    ...{ projectId, memoryKey, version, content },
    chunks: archivedChunks({ chunks }),
  };
}

function archivedChunks({ chunks }: Pick<KeyedPublication, "chunks">): ArchivedMemory["chunks"] {
  return chunks.map(({ chunkKey, chunk: { ordinal, start, end, headings } }) => {
    return { chunkKey, ordinal, start, end, headings };
  });
}

/** A memory as other nodes load it. */
export function sharedMemory(projectId: ProjectId, keyed: KeyedPublication<Publication>): SharedMemory {
  const { publication, chunks } = keyed;
  const { lease = 0, language, entities, vectors } = publication;
  return {
    ...archivedMemory(projectId, keyed),
    ...{ lease, language, entities, vectors },
    texts: (first, end) => chunks.slice(first, end).map((each) => publishChunk({ ...each, publication })),
  };
}

/** A memory whose parts were computed again, in the form in which it replaces the publication of all nodes. */
export function replacingMemory(projectId: ProjectId, rebuilt: Rebuild, firstKey: bigint): ReplacingMemory {
  const { memoryKey, language, entities, vectors, chunkKeys } = rebuilt;
  const keyed = withKeys(rebuilt, firstKey);
  return {
    ...{ projectId, memoryKey, language, entities, vectors, replaces: chunkKeys[0] ?? (0n as ChunkKey) },
    chunks: archivedChunks(keyed),
    texts: (first, end) =>
      keyed.chunks.slice(first, end).map((each) => publishChunk({ ...each, publication: rebuilt })),
  };
}

/**
 * The arguments of the native core for publications that were loaded, all with vectors of the same models. The texts
 * are unpacked as they are passed on, once and in order.
 */
export function loadedForNative(loaded: readonly LoadedPublication[]) {
  const chunks = toPublish(
    loaded.flatMap((each) => partsOf(each)),
    loaded.reduce((sum, { chunkCount }) => sum + chunkCount, 0),
  );
  const vectors = (loaded[0]?.vectors ?? []).map(({ fingerprint }, at): ModelVectors => {
    return {
      fingerprint,
      vectors: concatenate(loaded.map((each) => each.vectors[at]?.vectors ?? new Float32Array(0))),
    };
  });
  return { memories: publishedMemories(loaded), chunks, vectors };
}

/** The chunks of a publication that was loaded, in spans of this number of parts. See `loadedForNative`. */
export function spansForNative(loaded: LoadedPublication, parts: number): readonly PublishChunks[] {
  const all = partsOf(loaded);
  return Array.from({ length: Math.ceil(all.length / parts) }, (_, span) => {
    const first = span * parts;
    const length = Math.min(loaded.chunkCount - first * PART_CHUNKS, parts * PART_CHUNKS);
    return toPublish(all.slice(first, first + parts), length);
  });
}

/** A part of a publication: its texts are unpacked by each call. */
type Part = () => readonly PublishChunk[];

function partsOf({ memoryKey, firstChunkKey, chunkCount, language, part }: LoadedPublication): readonly Part[] {
  return Array.from({ length: Math.ceil(chunkCount / PART_CHUNKS) }, (_, number) => () => {
    const first = firstChunkKey + BigInt(number * PART_CHUNKS);
    return part(number).map((texts, at) => ({ ...texts, chunkKey: first + BigInt(at), memoryKey, language }));
  });
}

/** The chunks of parts, which are passed on once and in order. */
function toPublish(parts: readonly Part[], length: number): PublishChunks {
  const left = chunksOf(parts);
  return {
    length,
    slice: (start, end) =>
      Array.from({ length: end - start }, () => left.next().value).filter((chunk) => chunk != null),
  };
}

function* chunksOf(parts: readonly Part[]): Generator<PublishChunk> {
  for (const part of parts) yield* part();
}

/** Number of chunks whose publications are loaded at once, unless a single memory has more: about 40 MB. */
const LOADED_CHUNKS = 8_192;

/** Groups of publications that are loaded at once. */
export function loadingGroups(wanted: readonly WantedPublication[]): Iterable<readonly WantedPublication[]> {
  return groupsWithin(wanted, LOADED_CHUNKS, ({ chunkCount }) => chunkCount);
}

/** The keys of the chunks of a publication, which are consecutive, each with the key of the memory. */
export function chunkKeysOf({ memoryKey, firstChunkKey, chunkCount }: WantedPublication) {
  return {
    chunkKeys: BigUint64Array.from({ length: chunkCount }, (_, at) => firstChunkKey + BigInt(at)),
    memoryKeys: new BigUint64Array(chunkCount).fill(memoryKey),
  };
}

/** The known entities of the part of a memory that begins with this ordinal. Only the first part has the title. */
export function knownOfPart(known: KnownEntities, first: number): KnownEntities {
  return first === 0 ? known : { ...known, title: null };
}

/** The name of a publication whose chunks have keys. */
export function nameOf({ publication: { memoryKey }, chunks: [first] }: KeyedPublication): PublicationName {
  return { memoryKey, firstChunkKey: first?.chunkKey ?? (0n as ChunkKey) };
}

/** The arguments of the native core for memories that have vectors of the same models. */
export function forNative(keyed: readonly KeyedPublication[]) {
  const toIndex = keyed.flatMap(({ publication, chunks }) =>
    chunks.map(({ chunkKey, chunk }) => ({ chunkKey, chunk, publication })),
  );
  const chunks: PublishChunks = {
    length: toIndex.length,
    // Builds the chunk texts of one slice of chunks at a time: all chunk texts of a large memory take several times
    // the size of its content.
    slice: (start, end) => toIndex.slice(start, end).map(publishChunk),
  };
  const vectors = (keyed[0]?.publication.vectors ?? []).map(({ fingerprint }, at): ModelVectors => {
    const parts = keyed.map(({ publication }) => publication.vectors[at]?.vectors ?? new Float32Array(0));
    return { fingerprint, vectors: concatenate(parts) };
  });
  return { memories: publishedMemories(keyed.map(({ publication }) => publication)), chunks, vectors };
}

function publishedMemories(given: readonly Pick<ToIndex, "memoryKey" | "entities">[]): PublishedMemories {
  return {
    memoryKeys: BigUint64Array.from(given, ({ memoryKey }) => memoryKey),
    entities: given.map(({ entities }) => entities),
  };
}

/** Groups vectors of chunks by memory. `chunks` has all chunks of each of its memories, in order. */
export function vectorsByMemory({ chunkKeys, memoryKeys }: ChunkKeys, { fingerprint, vectors }: ModelVectors) {
  const dimensions = vectors.length / Math.max(1, chunkKeys.length);
  const added: (WantedPublication & { readonly vectors: ModelVectors })[] = [];
  for (let first = 0, end = 0; first < chunkKeys.length; first = end) {
    while (end < chunkKeys.length && memoryKeys[end] === memoryKeys[first]) end += 1;
    added.push({
      memoryKey: (memoryKeys[first] ?? 0n) as MemoryKey,
      firstChunkKey: (chunkKeys[first] ?? 0n) as ChunkKey,
      chunkCount: end - first,
      vectors: { fingerprint, vectors: vectors.subarray(first * dimensions, end * dimensions) },
    });
  }
  return added;
}

/** The publications of memories that have chunks. */
export function publicationsOf(states: readonly SharedState[]): readonly WantedPublication[] {
  return states.flatMap(({ memoryKey, firstChunkKey, chunkCount }) =>
    firstChunkKey === null ? [] : [{ memoryKey, firstChunkKey, chunkCount }],
  );
}
