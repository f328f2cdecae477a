// SharedIndex in memory, with the texts of published memories as TextArchive. It sees the changes of memories in the
// commits of a database.

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
import type { MemoryRow } from "../../src/stores/rows/memory.ts";
import { VISIBLE_COLUMNS } from "../../src/stores/rows/sql.ts";
import { type VisibleRow, visibleOf } from "../../src/stores/rows/visible.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import type { OpenShared } from "../contract/shared-index.ts";
import { openDelayedStores } from "./delayed-stores.ts";
import { UnsyncedDatabase } from "./unsynced-database.ts";

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

/** A row of a memory. */
interface Row extends VisibleRow, Pick<MemoryRow, "version" | "status" | "chunk_count"> {
  readonly project: string;
  readonly lease: bigint | null;
  readonly deleted_at: bigint | null;
}

const ROWS = `SELECT ${VISIBLE_COLUMNS}, version, status, chunk_count, lease, deleted_at,
    (SELECT id FROM projects WHERE projects.project_key = memories.project_key) AS project
  FROM memories ORDER BY memory_key`;
const LIVE_MODELS = "SELECT id, live FROM project_models JOIN projects USING (project_key)";
const OPEN_PROJECTS = "SELECT id FROM projects WHERE deleted_at IS NULL";

/** Opens empty stores, with what several nodes share of their indexes. */
export const openInMemoryShared: OpenShared = (clock) => {
  const database = new UnsyncedDatabase();
  const shared = new InMemorySharedIndex(database, clock);
  database.onCommit = () => shared.observe();
  return {
    ...openDelayedStores({ clock, database, newWebhookSecret }),
    ...{ shared, texts: shared.texts },
    age: (projectId, sequence, ms) => shared.age(projectId, sequence, ms),
    size: () => shared.size,
  };
};

/** SharedIndex in memory. */
class InMemorySharedIndex implements SharedIndex {
  readonly #stored = new Map<MemoryKey, Stored>();
  readonly #notes = new Map<ProjectId, Note[]>();
  readonly #sequences = new Map<ProjectId, number>();
  /** The rows and the live models of projects as of the last commit. */
  #rows: ReadonlyMap<MemoryKey, Row> = new Map();
  #models: ReadonlyMap<ProjectId, string | null> = new Map();

  constructor(
    private readonly database: UnsyncedDatabase,
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
    noteReplaced: async () => undefined,
    eraseRemoved: async () => true,
  };

  /** Number of texts and publications that are stored. */
  get size(): number {
    return this.#stored.size;
  }

  /** Notes what a commit changed. Called within the commit. */
  observe(): void {
    const rows = this.#read<Row>(ROWS);
    const changed = rows.filter((row) => {
      const before = this.#rows.get(row.memory_key as MemoryKey);
      return before !== undefined && !Bun.deepEquals(before, row) && isNoted(before, row);
    });
    for (const [project, ofProject] of Map.groupBy(changed, (row) => row.project)) {
      const keys = ofProject.map((row) => row.memory_key as MemoryKey);
      this.#note(project as ProjectId, keys);
    }
    this.#rows = new Map(rows.map((row) => [row.memory_key as MemoryKey, row]));
    const models = this.#read<{ id: ProjectId; live: string | null }>(LIVE_MODELS);
    for (const { id, live } of models) {
      if (this.#models.has(id) && this.#models.get(id) !== live) this.#note(id, [LIVE_MODEL]);
    }
    this.#models = new Map(models.map(({ id, live }) => [id, live]));
  }

  /** Makes the notes up to this number older. */
  age(projectId: ProjectId, sequence: number, ms: number): void {
    for (const note of this.#notes.get(projectId) ?? []) if (note.sequence <= sequence) note.at -= ms;
  }

  async sequence(projectId: ProjectId): Promise<number | null> {
    const isOpen = this.#read<{ id: ProjectId }>(OPEN_PROJECTS).some(({ id }) => id === projectId);
    return isOpen ? (this.#sequences.get(projectId) ?? 0) : null;
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
    yield [...this.#rows].flatMap(([key, row]) => (row.project === projectId && isVisible(row) ? [key] : []));
  }

  async states(projectId: ProjectId, memoryKeys: readonly MemoryKey[]): Promise<readonly SharedState[]> {
    return memoryKeys.flatMap((memoryKey) => {
      const row = this.#rows.get(memoryKey);
      if (row?.project !== projectId) return [];
      const stored = this.#stored.get(memoryKey);
      const firstChunkKey = stored?.publication?.firstChunkKey ?? null;
      const isComing = isInWork(row) && stored?.version === Number(row.version);
      const name = { memoryKey, chunkCount: stored?.chunks.length ?? 0 };
      return {
        memoryKey,
        visible: isVisible(row) ? visibleOf(row) : null,
        isDeleted: row.deleted_at !== null,
        chunkCount: Number(row.chunk_count),
        firstChunkKey,
        coming: isComing && firstChunkKey !== null ? { ...name, firstChunkKey } : null,
      };
    });
  }

  async publish(memories: readonly SharedMemory[]): Promise<ReadonlySet<MemoryKey>> {
    const held = memories.filter(({ memoryKey, version, lease }) => {
      const row = this.#rows.get(memoryKey);
      return row !== undefined && isInWork(row) && Number(row.lease) === lease && Number(row.version) === version;
    });
    const all = held.map((memory) => ({ ...archived(memory), publication: publicationOf(memory) }));
    for (const stored of all) this.#stored.set(stored.memoryKey, stored);
    return new Set(held.map(({ memoryKey }) => memoryKey));
  }

  async announce(projectId: ProjectId, memoryKey: MemoryKey): Promise<void> {
    if ((await this.sequence(projectId)) !== null && this.#rows.has(memoryKey)) this.#note(projectId, [memoryKey]);
  }

  async replace(projectId: ProjectId, memories: readonly ReplacingMemory[]): Promise<ReadonlySet<MemoryKey>> {
    const replaced = memories.filter((memory) => {
      const [row, stored] = [this.#rows.get(memory.memoryKey), this.#stored.get(memory.memoryKey)];
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

  #read<Found>(sql: string): readonly Found[] {
    return this.database.reader.prepare<Found>(sql).all({});
  }

  #storedOf(memoryKeys: readonly MemoryKey[]): readonly Stored[] {
    return memoryKeys.flatMap((key) => this.#stored.get(key) ?? []);
  }

  #publicationOf({ memoryKey, firstChunkKey }: Pick<WantedPublication, "memoryKey" | "firstChunkKey">) {
    const publication = this.#stored.get(memoryKey)?.publication ?? null;
    return publication?.firstChunkKey === firstChunkKey ? publication : null;
  }
}

function isVisible(row: Row): boolean {
  return row.status === "completed" && row.deleted_at === null;
}

function isInWork(row: Row): boolean {
  return row.status === "processing" && row.deleted_at === null;
}

/** Whether searches can see the change of a memory. */
function isNoted(before: Row, after: Row): boolean {
  const isSeen = before.status === "completed" || after.status === "completed" || after.deleted_at !== null;
  return before.deleted_at === null && isSeen;
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
