// SharedIndex in memory, with the texts of published memories as TextArchive. It sees the changes of memories in the
// commits of the in-memory stores.

import type { ChunkKey, MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import type { Clock } from "../../src/kit/clock.ts";
import type { ModelVectors, StoredMemory } from "../../src/ports/chunk-index.ts";
import {
  type LoadedPublication,
  PART_CHUNKS,
  type ReplacingMemory,
  type SharedChanges,
  type SharedChunkTexts,
  type SharedIndex,
  type SharedMemory,
  type SharedState,
  type WantedPublication,
} from "../../src/ports/shared-index.ts";
import type { ArchivedMemory, TextArchive } from "../../src/ports/text-archive.ts";
import { toVisible } from "./memory-row.ts";
import { emptyTables, type MemoryRow, type Tables } from "./session.ts";

const DAY_MS = 24 * 60 * 60_000;
/** Stands for the live model of a project among the memories that changed. */
const LIVE_MODEL = 0n as MemoryKey;

/** What nodes load of a memory. */
interface Publication extends Pick<SharedMemory, "language" | "entities"> {
  readonly firstChunkKey: ChunkKey | null;
  readonly texts: readonly SharedChunkTexts[];
  /** By the fingerprint of the model. */
  readonly vectors: ReadonlyMap<string, Float32Array>;
}

interface Stored extends Omit<ArchivedMemory, "content"> {
  readonly content: string;
  /** null if the text was stored without one. */
  readonly publication: Publication | null;
}

/** Changes of a project under one number. */
interface Note {
  readonly sequence: number;
  readonly memoryKeys: readonly MemoryKey[];
  at: number;
}

/** SharedIndex in memory. `committed` are the tables of the stores as of their last commit. */
export class InMemorySharedIndex implements SharedIndex {
  readonly #stored = new Map<MemoryKey, Stored>();
  readonly #notes = new Map<ProjectId, Note[]>();
  readonly #sequences = new Map<ProjectId, number>();
  #seen: Tables = emptyTables();

  constructor(
    private readonly committed: () => Tables,
    private readonly clock: Clock,
  ) {}

  /** The texts of published memories. */
  readonly texts: TextArchive = {
    replace: async (memories) => {
      const all = memories.map((memory) => ({ ...archived(memory), publication: null })); // reads all before it stores one
      for (const stored of all) this.#stored.set(stored.memoryKey, stored);
    },
    remove: async (memoryKeys) => {
      for (const key of memoryKeys) this.#stored.delete(key);
    },
    contents: async (memoryKeys) =>
      new Map(
        this.#storedOf(memoryKeys).map(({ memoryKey, version, content }) => [memoryKey, { version, content }] as const),
      ),
    stored: async (memoryKeys) =>
      new Map(this.#storedOf(memoryKeys).map((stored) => [stored.memoryKey, toStoredMemory(stored)] as const)),
    chunkKeys: async (projectId) => {
      const chunks = [...this.#stored.values()].flatMap((stored) =>
        stored.projectId === projectId
          ? stored.chunks.map(({ chunkKey }) => [stored.memoryKey, chunkKey] as const)
          : [],
      );
      return {
        memoryKeys: BigUint64Array.from(chunks, ([memoryKey]) => memoryKey),
        chunkKeys: BigUint64Array.from(chunks, ([, chunkKey]) => chunkKey),
      };
    },
    eraseRemoved: async () => true,
  };

  /** Number of texts and publications that are stored. */
  get size(): number {
    return this.#stored.size;
  }

  /** Notes what a commit changed. Called within the commit, with the tables as they are after it. */
  observe(tables: Tables): void {
    const changed = tables.memories.rows().flatMap((row) => {
      const before = this.#seen.memories.get(row.key);
      return before !== undefined && before !== row && isNoted(before, row) ? [row] : [];
    });
    for (const [projectId, rows] of Map.groupBy(changed, (row) => row.projectId)) {
      this.#note(
        projectId,
        rows.map(({ key }) => key),
      );
    }
    for (const { projectId, live } of tables.models.rows()) {
      const before = this.#seen.models.get(projectId);
      if (before !== undefined && before.live !== live) this.#note(projectId, [LIVE_MODEL]);
    }
    this.#seen = tables;
  }

  /** Makes the notes up to this number older. */
  age(projectId: ProjectId, sequence: number, ms: number): void {
    for (const note of this.#notes.get(projectId) ?? []) if (note.sequence <= sequence) note.at -= ms;
  }

  async sequence(projectId: ProjectId): Promise<number | null> {
    const row = this.committed().projects.get(projectId);
    return row === undefined || row.deletedAt !== null ? null : (this.#sequences.get(projectId) ?? 0);
  }

  async sequences(projectIds: readonly ProjectId[]): Promise<ReadonlyMap<ProjectId, number>> {
    const sequences = new Map<ProjectId, number>();
    for (const id of projectIds) {
      const sequence = await this.sequence(id);
      if (sequence !== null) sequences.set(id, sequence);
    }
    return sequences;
  }

  async changesAfter(projectId: ProjectId, sequence: number): Promise<SharedChanges> {
    const notes = (this.#notes.get(projectId) ?? []).filter((note) => note.sequence > sequence);
    const isIncomplete = notes[0] !== undefined && notes[0].sequence > sequence + 1;
    const memoryKeys = [...new Set(isIncomplete ? [] : notes.flatMap((note) => note.memoryKeys))];
    return { memoryKeys, sequence: isIncomplete ? sequence : (notes.at(-1)?.sequence ?? sequence), isIncomplete };
  }

  async *completed(projectId: ProjectId): AsyncGenerator<readonly MemoryKey[]> {
    const rows = this.committed().memories.rows((row) => row.projectId === projectId && isVisible(row));
    yield rows.map(({ key }) => key).sort((one, other) => Number(one - other));
  }

  async states(projectId: ProjectId, memoryKeys: readonly MemoryKey[]): Promise<readonly SharedState[]> {
    const rows = memoryKeys.flatMap((key) => this.committed().memories.get(key) ?? []);
    return rows
      .filter((row) => row.projectId === projectId)
      .map((row) => {
        const stored = this.#stored.get(row.key);
        const firstChunkKey = stored?.publication?.firstChunkKey ?? null;
        const isComing = row.status === "processing" && row.deletedAt === null && stored?.version === row.version;
        const name = { memoryKey: row.key, chunkCount: stored?.chunks.length ?? 0 };
        return {
          memoryKey: row.key,
          visible: isVisible(row) ? toVisible(row) : null,
          isDeleted: row.deletedAt !== null,
          chunkCount: row.chunkCount,
          firstChunkKey,
          coming: isComing && firstChunkKey !== null ? { ...name, firstChunkKey } : null,
        };
      });
  }

  async publish(memories: readonly SharedMemory[]): Promise<ReadonlySet<MemoryKey>> {
    const held = memories.filter(({ memoryKey, version, lease }) => {
      const row = this.committed().memories.get(memoryKey);
      return row?.status === "processing" && row.lease === lease && row.version === version && row.deletedAt === null;
    });
    const all = held.map((memory) => ({ ...archived(memory), publication: publicationOf(memory) }));
    for (const stored of all) this.#stored.set(stored.memoryKey, stored);
    return new Set(held.map(({ memoryKey }) => memoryKey));
  }

  async announce(projectId: ProjectId, memoryKey: MemoryKey): Promise<void> {
    const { memories } = this.committed();
    if ((await this.sequence(projectId)) !== null && memories.get(memoryKey) !== undefined) {
      this.#note(projectId, [memoryKey]);
    }
  }

  async replace(projectId: ProjectId, memories: readonly ReplacingMemory[]): Promise<ReadonlySet<MemoryKey>> {
    const replaced = memories.filter((memory) => {
      const [row, stored] = [this.committed().memories.get(memory.memoryKey), this.#stored.get(memory.memoryKey)];
      if (row === undefined || stored === undefined || !isVisible(row)) return false;
      if (stored.publication?.firstChunkKey !== memory.replaces) return false;
      this.#stored.set(memory.memoryKey, { ...stored, chunks: memory.chunks, publication: publicationOf(memory) });
      return true;
    });
    const keys = replaced.map(({ memoryKey }) => memoryKey);
    if (keys.length > 0) this.#note(projectId, keys);
    return new Set(keys);
  }

  async publications(
    wanted: readonly WantedPublication[],
    models: readonly string[],
  ): Promise<readonly LoadedPublication[]> {
    return wanted.flatMap((each) => {
      const publication = this.#publicationOf(each);
      if (publication === null || publication.texts.length !== each.chunkCount) return [];
      const { language, entities, texts, vectors } = publication;
      return [
        {
          ...{ ...each, language, entities },
          vectors: models.flatMap((fingerprint): ModelVectors[] => {
            const own = vectors.get(fingerprint);
            return own === undefined ? [] : [{ fingerprint, vectors: own.slice() }];
          }),
          part: (number: number) => texts.slice(number * PART_CHUNKS, (number + 1) * PART_CHUNKS),
        },
      ];
    });
  }

  async addVectors(added: readonly (WantedPublication & { readonly vectors: ModelVectors })[]): Promise<void> {
    for (const { vectors: given, ...name } of added) {
      const [stored, publication] = [this.#stored.get(name.memoryKey), this.#publicationOf(name)];
      if (stored === undefined || publication === null) continue;
      const vectors = new Map([...publication.vectors, [given.fingerprint, toBf16(given.vectors)]]);
      this.#stored.set(name.memoryKey, { ...stored, publication: { ...publication, vectors } });
    }
  }

  async keepModels(projectId: ProjectId, models: readonly string[]): Promise<void> {
    for (const stored of this.#stored.values()) {
      if (stored.projectId !== projectId || stored.publication === null) continue;
      const vectors = new Map([...stored.publication.vectors].filter(([fingerprint]) => models.includes(fingerprint)));
      this.#stored.set(stored.memoryKey, { ...stored, publication: { ...stored.publication, vectors } });
    }
  }

  async prune(): Promise<void> {
    for (const [projectId, notes] of this.#notes) {
      this.#notes.set(
        projectId,
        notes.filter(({ at }) => at >= this.clock.now() - DAY_MS),
      );
    }
  }

  #note(projectId: ProjectId, memoryKeys: readonly MemoryKey[]): void {
    const sequence = (this.#sequences.get(projectId) ?? 0) + 1;
    this.#sequences.set(projectId, sequence);
    this.#notes.set(projectId, [...(this.#notes.get(projectId) ?? []), { sequence, memoryKeys, at: this.clock.now() }]);
  }

  #storedOf(memoryKeys: readonly MemoryKey[]): readonly Stored[] {
    return memoryKeys.flatMap((key) => this.#stored.get(key) ?? []);
  }

  #publicationOf({ memoryKey, firstChunkKey }: Pick<WantedPublication, "memoryKey" | "firstChunkKey">) {
    const publication = this.#stored.get(memoryKey)?.publication ?? null;
    return publication?.firstChunkKey === firstChunkKey ? publication : null;
  }
}

function isVisible({ status, deletedAt }: MemoryRow): boolean {
  return status === "completed" && deletedAt === null;
}

/** Whether searches can see the change of a memory. */
function isNoted(before: MemoryRow, after: MemoryRow): boolean {
  const isSeen = before.status === "completed" || after.status === "completed" || after.deletedAt !== null;
  return before.deletedAt === null && isSeen;
}

function archived({ projectId, memoryKey, version, content, chunks }: ArchivedMemory): Omit<Stored, "publication"> {
  return { projectId, memoryKey, version, content: content.slice(0), chunks: [...chunks] };
}

function publicationOf(memory: Omit<SharedMemory, "version" | "lease" | "content">): Publication {
  const { chunks, language, entities, vectors } = memory;
  return {
    ...{ language, entities: structuredClone(entities) },
    firstChunkKey: chunks[0]?.chunkKey ?? null,
    texts: [...memory.texts(0, chunks.length)],
    vectors: new Map(vectors.map(({ fingerprint, vectors: given }) => [fingerprint, toBf16(given)])),
  };
}

function toStoredMemory({ version, content, chunks }: Stored): StoredMemory {
  const places = chunks.map(({ chunkKey, ordinal, start, end }) => ({ chunkKey, ordinal, start, end }));
  return { version, content, chunks: places.sort((one, other) => one.ordinal - other.ordinal) };
}

/** A copy that is rounded to the nearest bf16, ties to even. */
function toBf16(vectors: Float32Array): Float32Array {
  const rounded = vectors.slice();
  const bits = new Uint32Array(rounded.buffer);
  for (const [at, value] of bits.entries()) bits[at] = (((value + 0x7fff + ((value >>> 16) & 1)) >>> 16) << 16) >>> 0;
  return rounded;
}
