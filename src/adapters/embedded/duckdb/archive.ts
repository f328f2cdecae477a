// The texts of published memories and the places of their chunks: the durable truth behind the indexes. How the file is
// opened and healed is database.ts; which memories there should be is for the rows in SQLite to say.

import type { ChunkKey, MemoryKey, ProjectId } from "../../../domain/ids.ts";
import { DuckDatabase, type DuckDatabaseOptions } from "./database.ts";
import { PIECE_CHARACTERS_MAX } from "./schema.ts";

/** A memory as it is archived. */
export interface ArchivedMemory {
  readonly projectId: ProjectId;
  readonly memoryKey: MemoryKey;
  readonly version: number;
  readonly content: string;
  readonly chunks: readonly ArchivedChunk[];
}

/**
 * A chunk's place: a range of its memory's content in Unicode code points, end exclusive, and the headings above it.
 */
export interface ArchivedChunk {
  readonly chunkKey: ChunkKey;
  readonly ordinal: number;
  readonly start: number;
  readonly end: number;
  readonly headings: readonly string[];
}

/** Keys of chunks with those of their memories: two arrays in parallel. */
export interface ArchivedChunkKeys {
  readonly memoryKeys: BigUint64Array;
  readonly chunkKeys: BigUint64Array;
}

/**
 * Keys at most this far apart are read together. DuckDB reads 2,048 rows at once, so that a smaller gap costs nothing
 * and a larger one more than a second query.
 */
const GAP_MAX = 2_048n;

/** The archive of one deployment. Writes happen one after the other; reads see whole writes only. */
export class Archive {
  private constructor(private readonly database: DuckDatabase) {}

  /**
   * Opens the archive, or makes an empty one.
   * @throws StoreError
   */
  static async open(options: DuckDatabaseOptions): Promise<Archive> {
    return new Archive(await DuckDatabase.open(options));
  }

  /**
   * Stores memories in place of what was stored under their keys: all of them or, when it rejects, none. Can be
   * repeated.
   * @throws StoreError; `no_space` leaves the archive readable
   */
  async replace(memories: readonly ArchivedMemory[]): Promise<void> {
    if (memories.length === 0) return;
    const where = clusters(memories.map((memory) => memory.memoryKey)).map(toCondition);
    await this.database.write(async (writer) => {
      for (const condition of where) {
        await writer.run(`DELETE FROM texts WHERE ${condition}`);
        await writer.run(`DELETE FROM chunks WHERE ${condition}`);
      }
      await writer.append("texts", textRows(memories));
      await writer.append("chunks", chunkRows(memories));
    });
  }

  /**
   * Removes memories for good; keys that are not stored are passed over.
   * @throws StoreError
   */
  async remove(memoryKeys: readonly MemoryKey[]): Promise<void> {
    if (memoryKeys.length === 0) return;
    const where = clusters(memoryKeys).map(toCondition);
    await this.database.write(async (writer) => {
      for (const condition of where) {
        await writer.run(`DELETE FROM texts WHERE ${condition}`);
        await writer.run(`DELETE FROM chunks WHERE ${condition}`);
      }
    });
  }

  /**
   * Contents by key; a key that is not stored is absent. Cheap for keys that lie together (a page of a list, a batch):
   * a few milliseconds; up to 2 ms for each key that lies far from the others.
   * @throws StoreError
   */
  async contents(memoryKeys: readonly MemoryKey[]): Promise<Map<MemoryKey, string>> {
    const pieces = new Map<bigint, string[]>();
    for (const cluster of clusters(memoryKeys)) {
      const rows = await this.database.rows<readonly [bigint, number, string]>(
        `SELECT memory_key, piece, content FROM texts WHERE ${toCondition(cluster)}`,
      );
      for (const [memoryKey, piece, content] of rows) {
        const known = pieces.get(memoryKey);
        if (known === undefined) pieces.set(memoryKey, placed([], piece, content));
        else placed(known, piece, content);
      }
    }
    return new Map(Array.from(pieces, ([key, texts]) => [key as MemoryKey, texts.join("")]));
  }

  /**
   * Keys of all chunks of a project, in no order.
   * @throws StoreError
   */
  async chunkKeys(projectId: ProjectId): Promise<ArchivedChunkKeys> {
    const [memoryKeys, chunkKeys] = await this.database.keyColumns(
      "SELECT memory_key, chunk_key FROM chunks WHERE project_id = $1",
      [projectId],
    );
    return { memoryKeys: memoryKeys ?? new BigUint64Array(), chunkKeys: chunkKeys ?? new BigUint64Array() };
  }

  /** Folds the log into the file: for when nothing else is to be done, since it takes up to a second. */
  checkpoint(): Promise<void> {
    return this.database.checkpoint();
  }

  /** Waits for calls under way and closes the file; afterwards every call fails. */
  close(): Promise<void> {
    return this.database.close();
  }
}

function* textRows(memories: readonly ArchivedMemory[]) {
  for (const { projectId, memoryKey, version, content } of memories) {
    let piece = 0;
    for (const text of piecesOf(content)) yield [projectId, memoryKey, version, piece++, text];
  }
}

function* chunkRows(memories: readonly ArchivedMemory[]) {
  for (const { projectId, memoryKey, chunks } of memories) {
    for (const { chunkKey, ordinal, start, end, headings } of chunks) {
      yield [projectId, memoryKey, chunkKey, ordinal, start, end, headings];
    }
  }
}

/** Cuts a text into pieces for one row each, at least one; no surrogate pair is cut in two. */
function* piecesOf(content: string): Generator<string> {
  let start = 0;
  do {
    let end = start + PIECE_CHARACTERS_MAX;
    if (isHighSurrogate(content.charCodeAt(end - 1))) end -= 1;
    yield content.slice(start, end);
    start = end;
  } while (start < content.length);
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function placed(texts: string[], piece: number, content: string): string[] {
  texts[piece] = content;
  return texts;
}

/** Keys in ascending order, none twice, cut where two lie too far apart to be read together. */
function clusters(keys: readonly MemoryKey[]): readonly (readonly bigint[])[] {
  const found: bigint[][] = [];
  for (const key of BigUint64Array.from(new Set(keys)).sort()) {
    const cluster = found.at(-1);
    const last = cluster?.at(-1);
    if (cluster === undefined || last === undefined || key - last > GAP_MAX) found.push([key]);
    else cluster.push(key);
  }
  return found;
}

// The bounds let DuckDB skip row groups, and within those it reads the rest of a row only where they hold; it does
// neither for the list alone.
function toCondition(cluster: readonly bigint[]): string {
  const bounds = `memory_key BETWEEN ${cluster[0]} AND ${cluster.at(-1)}`;
  return `${bounds} AND memory_key IN (${cluster.join(",")})`;
}
