// Stores the texts of published memories and the places of their chunks. The indexes are derived from them. database.ts
// opens and repairs the file; the rows in SQLite decide which memories exist.

import type { ChunkKey, MemoryKey, ProjectId } from "../../../domain/ids.ts";
import { piecesWithin } from "../../../kit/text-pieces.ts";
import type { StoredChunk, StoredMemory, StoredText } from "../../../ports/chunk-index.ts";
import type { ArchivedChunkKeys, ArchivedMemory, TextArchive } from "../../../ports/text-archive.ts";
import { DuckDatabase, type DuckDatabaseOptions, type Writer } from "./database.ts";
import { clusters, toCondition } from "./key-conditions.ts";
import {
  freeBlocks,
  isTransient,
  isWasteful,
  NOTE_REMOVAL,
  NOTED_REMOVAL,
  rewriteTables,
  TABLE_NAMES,
  USE_OF_FILE,
} from "./rewriting.ts";
import { PIECE_CHARACTERS_MAX } from "./schema.ts";
import type { DuckSnapshot } from "./snapshot.ts";

/** Options for opening the archive. */
export interface ArchiveOptions extends DuckDatabaseOptions {
  /** Number of rows per step of `eraseRemoved`. Writes run between its steps; see rewriting.ts. */
  readonly rewriteRows?: number;
}

/** The texts and chunk places of all projects. Writes run one after the other; a read sees complete writes only. */
export class Archive implements TextArchive {
  /** Keys that were written or removed since the current rewrite of the tables began; null if there is none. */
  #changedMeanwhile: Set<bigint> | null = null;
  #erasing: Promise<boolean> | null = null;
  /** Number of calls of `remove` and `noteReplaced`. */
  #removals = 0;
  /** Number of free blocks that the last rewrite left; 0 if something was written meanwhile or since. */
  #unfreedBlocks = 0;
  /** Whether the last rewrite failed, as it does on a full disk. Then the next one lets the file grow less. */
  #hasFailed = false;

  private constructor(
    private readonly database: DuckDatabase,
    private readonly rewriteRows: number | undefined,
  ) {}

  /**
   * Opens the archive, or creates an empty one.
   * @throws StoreError if the file cannot be used
   */
  static async open(options: ArchiveOptions): Promise<Archive> {
    return new Archive(await DuckDatabase.open(options), options.rewriteRows);
  }

  /** Number of the newest commit. Rows that rely on a text record it (opening.ts). */
  get commits(): number {
    return this.database.commits;
  }

  /**
   * Replaces what is stored for these memories. If it rejects, nothing was changed. The call can be repeated.
   * @throws StoreError if the file cannot be written; after `no_space` the archive can still be read
   */
  async replace(memories: readonly ArchivedMemory[]): Promise<void> {
    if (memories.length === 0) return;
    const keys = memories.map((memory) => memory.memoryKey);
    this.#noteWrite(keys);
    await this.database.write(async (writer) => {
      await removeRows(writer, keys);
      await writer.append("texts", textRows(memories));
      await writer.append("chunks", chunkRows(memories));
    });
  }

  /**
   * Removes memories for good. Ignores keys that are not stored.
   * @throws StoreError if the file cannot be used
   */
  async remove(memoryKeys: readonly MemoryKey[]): Promise<void> {
    if (memoryKeys.length === 0) return;
    this.#removals += 1;
    this.#noteWrite(memoryKeys);
    await this.database.write(async (writer) => {
      await removeRows(writer, memoryKeys);
      await writer.run(NOTE_REMOVAL);
    });
  }

  /**
   * Makes the next `eraseRemoved` also overwrite what was replaced before.
   * @throws StoreError if the file cannot be used
   */
  async noteReplaced(): Promise<void> {
    this.#removals += 1;
    await this.database.write((writer) => writer.run(NOTE_REMOVAL));
  }

  /**
   * Returns texts by memory key, without keys that are not stored. Keys that are close together (a page of a list, a
   * batch) take a few milliseconds. Each key that is far from the others takes up to 2 ms.
   * @throws StoreError if the file cannot be used
   */
  async contents(memoryKeys: readonly MemoryKey[]): Promise<Map<MemoryKey, StoredText>> {
    const found = new Map<bigint, { version: number; pieces: string[] }>();
    for (const cluster of clusters(memoryKeys)) {
      const rows = await this.database.rows<readonly [bigint, number, number, string]>(
        `SELECT memory_key, version, piece, content FROM texts WHERE ${toCondition(cluster)}`,
      );
      for (const [memoryKey, version, piece, content] of rows) {
        const known = found.get(memoryKey);
        if (known === undefined) found.set(memoryKey, { version, pieces: withPiece([], piece, content) });
        else withPiece(known.pieces, piece, content);
      }
    }
    return new Map(
      Array.from(found, ([key, { version, pieces }]) => [key as MemoryKey, { version, content: pieces.join("") }]),
    );
  }

  /**
   * Versions of all stored texts, by memory key.
   * @throws StoreError if the file cannot be used
   */
  async versions(): Promise<Map<bigint, number>> {
    const [keys = new BigUint64Array(), versions = new BigUint64Array()] = await this.database.keyColumns(
      "SELECT memory_key, max(version)::UBIGINT FROM texts GROUP BY memory_key",
    );
    return new Map(Array.from(keys, (key, at) => [key, Number(versions[at] ?? 0n)]));
  }

  /**
   * Contents and chunks of memories, by memory key, without keys that are not stored. One query reads both, so they
   * always belong together. Chunks are in the order of their ordinals.
   * @throws StoreError if the file cannot be used
   */
  async stored(memoryKeys: readonly MemoryKey[]): Promise<Map<MemoryKey, StoredMemory>> {
    const found = new Map<bigint, { version: number; texts: string[]; chunks: StoredChunk[] }>();
    for (const cluster of clusters(memoryKeys)) {
      const where = toCondition(cluster);
      const rows = await this.database.rows<readonly [bigint, bigint, number, string, bigint, number, number]>(
        `SELECT memory_key, version, piece, content, 0::UBIGINT, 0::UINTEGER, 0::UINTEGER FROM texts WHERE ${where}
         UNION ALL SELECT memory_key, 0, ordinal, '', chunk_key, range_start, range_end FROM chunks WHERE ${where}`,
      );
      for (const [memoryKey, version, position, content, chunkKey, start, end] of rows) {
        const memory = found.get(memoryKey) ?? { version: 0, texts: [], chunks: [] };
        found.set(memoryKey, memory);
        if (chunkKey === 0n) {
          memory.version = Number(version);
          memory.texts[position] = content;
        } else {
          memory.chunks.push({ chunkKey: chunkKey as ChunkKey, ordinal: position, start, end });
        }
      }
    }
    return new Map(
      Array.from(found, ([key, { version, texts, chunks }]) => {
        const inOrder = chunks.sort((one, other) => one.ordinal - other.ordinal);
        return [key as MemoryKey, { version, content: texts.join(""), chunks: inOrder }];
      }),
    );
  }

  /**
   * Keys of all chunks of a project, in no particular order.
   * @throws StoreError if the file cannot be used
   */
  async chunkKeys(projectId: ProjectId): Promise<ArchivedChunkKeys> {
    const [memoryKeys, chunkKeys] = await this.database.keyColumns(
      "SELECT memory_key, chunk_key FROM chunks WHERE project_id = $1",
      [projectId],
    );
    return { memoryKeys: memoryKeys ?? new BigUint64Array(), chunkKeys: chunkKeys ?? new BigUint64Array() };
  }

  /** See DuckDatabase.snapshot. */
  snapshot(): Promise<DuckSnapshot> {
    return this.database.snapshot();
  }

  /**
   * Overwrites the remains of removed and replaced texts in the file, if there are any, and makes the file smaller if
   * much of it is unused. Writes go on between its steps. Returns whether the file has no such remains any more; false
   * if a backup reads the file, memories were removed meanwhile, or the file was reopened or is being closed.
   * @throws StoreError if the file cannot be used
   */
  eraseRemoved(): Promise<boolean> {
    this.#erasing ??= this.#eraseRemoved().finally(() => {
      this.#erasing = null;
    });
    return this.#erasing;
  }

  async #eraseRemoved(): Promise<boolean> {
    const isNoted = async () => (await this.database.rows(NOTED_REMOVAL)).length > 0;
    const useOfFile = async () => (await this.database.rows(USE_OF_FILE))[0];
    // A transient table notes a removal, or was left by a rewrite that failed.
    const hasTransientTable = (await this.database.rows(TABLE_NAMES)).some(([name]) => isTransient(String(name)));
    if (!hasTransientTable && !isWasteful(await useOfFile(), this.#unfreedBlocks)) return true;
    // Writes that were called earlier run before the first step, and all others are noted from here on.
    const [changed, removals] = [new Set<bigint>(), this.#removals];
    this.#changedMeanwhile = changed;
    try {
      const changes = { keys: () => [...changed], isNothingRemoved: () => this.#removals === removals };
      const isDone = await this.database.inSteps((connection) =>
        rewriteTables(connection, ["texts", "chunks"], changes, {
          rowsPerStep: this.rewriteRows,
          fillsGaps: !this.#hasFailed,
        }),
      );
      this.#hasFailed = false;
      if (isDone && changed.size === 0) this.#unfreedBlocks = freeBlocks(await useOfFile());
      return isDone && !(await isNoted());
    } catch (error) {
      this.#hasFailed = true;
      throw error;
    } finally {
      this.#changedMeanwhile = null;
    }
  }

  #noteWrite(keys: readonly MemoryKey[]): void {
    this.#unfreedBlocks = 0;
    for (const key of keys) this.#changedMeanwhile?.add(key);
  }

  /** Merges the write-ahead log into the file. Takes up to a second, so it is for idle times. */
  checkpoint(): Promise<void> {
    return this.database.checkpoint();
  }

  /** Waits for running calls and closes the file. All later calls fail. */
  close(): Promise<void> {
    return this.database.close();
  }
}

async function removeRows(writer: Writer, keys: readonly MemoryKey[]): Promise<void> {
  for (const condition of clusters(keys).map(toCondition)) {
    await writer.run(`DELETE FROM texts WHERE ${condition}`);
    await writer.run(`DELETE FROM chunks WHERE ${condition}`);
  }
}

function* textRows(memories: readonly ArchivedMemory[]) {
  for (const { projectId, memoryKey, version, content } of memories) {
    let piece = 0;
    for (const text of piecesWithin(content, PIECE_CHARACTERS_MAX))
      yield [projectId, memoryKey, version, piece++, text];
  }
}

function* chunkRows(memories: readonly ArchivedMemory[]) {
  for (const { projectId, memoryKey, chunks } of memories) {
    for (const { chunkKey, ordinal, start, end, headings } of chunks) {
      yield [projectId, memoryKey, chunkKey, ordinal, start, end, headings];
    }
  }
}

function withPiece(texts: string[], piece: number, content: string): string[] {
  texts[piece] = content;
  return texts;
}
