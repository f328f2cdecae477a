// TextArchive on PostgreSQL: a row per text, and a row per chunk.

import type { ChunkKey, MemoryKey, ProjectId } from "../../domain/ids.ts";
import type { StoredMemory, StoredText } from "../../ports/chunk-index.ts";
import type { ArchivedChunkKeys, ArchivedMemory, TextArchive } from "../../ports/text-archive.ts";
import type { Client } from "./client.ts";
import { ProjectTurns } from "./project-turns.ts";
import { inWritingSession, ReadingSession, type WritingSession } from "./session.ts";

/** Maximum size of the contents of one statement, in UTF-16 code units, unless a single content is longer. */
const STATEMENT_CHARACTERS_MAX = 4 * 1024 * 1024;

/** Number of consecutive keys of memories whose chunks are packed into one row. */
const PACKED_MEMORIES = 1_000_000;

const PUT_TEXTS = `INSERT INTO texts (memory_key, project_id, version, content)
  SELECT * FROM unnest($keys::bigint[], $projects::text[], $versions::bigint[], $contents::text[])
  ON CONFLICT (memory_key) DO UPDATE SET project_id = excluded.project_id, version = excluded.version,
    content = excluded.content, first_chunk_key = NULL`;
const REMOVE_TEXTS = "DELETE FROM texts WHERE memory_key = ANY($keys::bigint[])";
const REMOVE_CHUNKS = "DELETE FROM chunks WHERE memory_key = ANY($keys::bigint[])";
const PUT_CHUNKS = `INSERT INTO chunks (memory_key, chunk_key, ordinal, range_start, range_end, headings)
  SELECT * FROM unnest($memories::bigint[], $chunks::bigint[], $ordinals::bigint[], $starts::bigint[], $ends::bigint[],
    $headings::text[])`;
const CONTENTS = "SELECT memory_key, version, content FROM texts WHERE memory_key = ANY($keys::bigint[])";
const STORED = `SELECT memory_key, version, content, own.*
  FROM texts CROSS JOIN LATERAL (SELECT array_agg(chunk_key ORDER BY ordinal) AS chunk_keys,
      array_agg(ordinal ORDER BY ordinal) AS ordinals, array_agg(range_start ORDER BY ordinal) AS starts,
      array_agg(range_end ORDER BY ordinal) AS ends
    FROM chunks WHERE chunks.memory_key = texts.memory_key) AS own
  WHERE memory_key = ANY($keys::bigint[])`;
// A node reads all keys when it opens a project. Packed, they take less than half the time of a row each.
const CHUNK_KEYS = `SELECT string_agg(int8send(memory_key), ''::bytea) AS memory_keys,
    string_agg(int8send(chunk_key), ''::bytea) AS chunk_keys
  FROM texts JOIN chunks USING (memory_key) WHERE project_id = $project GROUP BY memory_key / ${PACKED_MEMORIES}`;
const VACUUM = "VACUUM texts, chunks, publication_parts, publication_vectors";

interface TextRow {
  readonly memory_key: bigint;
  readonly version: bigint;
  readonly content: string;
}

interface StoredRow extends TextRow {
  readonly chunk_keys: readonly bigint[] | null;
  readonly ordinals: readonly bigint[] | null;
  readonly starts: readonly bigint[] | null;
  readonly ends: readonly bigint[] | null;
}

/** TextArchive on PostgreSQL. */
export class PostgresTexts implements TextArchive {
  readonly #reading: ReadingSession;
  /** Makes writes run in the order of the calls. */
  readonly #turns = new ProjectTurns();
  #hasRemoved = true;

  constructor(private readonly client: Client) {
    this.#reading = new ReadingSession(client);
  }

  async replace(memories: readonly ArchivedMemory[]): Promise<void> {
    if (memories.length === 0) return;
    await this.#write((session) => putTexts(session, memories));
  }

  async remove(memoryKeys: readonly MemoryKey[]): Promise<void> {
    if (memoryKeys.length === 0) return;
    await this.#write(async (session) => {
      await session.run(REMOVE_TEXTS, { keys: memoryKeys });
      await session.run(REMOVE_CHUNKS, { keys: memoryKeys });
    });
    this.#hasRemoved = true;
  }

  async noteReplaced(): Promise<void> {
    this.#hasRemoved = true;
  }

  async contents(memoryKeys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, StoredText>> {
    if (memoryKeys.length === 0) return new Map();
    const rows = await this.#reading.all<TextRow>(CONTENTS, { keys: memoryKeys });
    return new Map(
      rows.map(({ memory_key, version, content }) => [memory_key as MemoryKey, { version: Number(version), content }]),
    );
  }

  async stored(memoryKeys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, StoredMemory>> {
    if (memoryKeys.length === 0) return new Map();
    const rows = await this.#reading.all<StoredRow>(STORED, { keys: memoryKeys });
    return new Map(rows.map((row) => [row.memory_key as MemoryKey, toStored(row)]));
  }

  async chunkKeys(projectId: ProjectId): Promise<ArchivedChunkKeys> {
    type Row = { readonly memory_keys: Uint8Array; readonly chunk_keys: Uint8Array };
    const rows = await this.#reading.all<Row>(CHUNK_KEYS, { project: projectId });
    return {
      memoryKeys: unpackedKeys(rows.map((row) => row.memory_keys)),
      chunkKeys: unpackedKeys(rows.map((row) => row.chunk_keys)),
    };
  }

  // The server frees the space of removed rows, and overwrites it when it is needed.
  async eraseRemoved(): Promise<boolean> {
    if (!this.#hasRemoved) return true;
    this.#hasRemoved = false;
    await this.client.executeAlone(VACUUM);
    return true;
  }

  async #write(work: (session: WritingSession) => Promise<void>): Promise<void> {
    const end = await this.#turns.take("texts");
    try {
      await inWritingSession(this.client, this.#turns, work);
    } finally {
      end();
    }
  }
}

/** Replaces texts and chunks in an open transaction. */
export async function putTexts(session: WritingSession, memories: readonly ArchivedMemory[]): Promise<void> {
  for (const { texts, chunks } of [...statements(memories)]) {
    await session.run(PUT_TEXTS, texts);
    await session.run(REMOVE_CHUNKS, { keys: texts.keys });
    await session.run(PUT_CHUNKS, chunks);
  }
}

/** Replaces the chunks of memories whose texts stay, in an open transaction. */
export async function putChunks(
  session: WritingSession,
  memories: readonly Pick<ArchivedMemory, "memoryKey" | "chunks">[],
): Promise<void> {
  await session.run(REMOVE_CHUNKS, { keys: memories.map(({ memoryKey }) => memoryKey) });
  await session.run(PUT_CHUNKS, chunkParameters(memories));
}

/** The parameters of the statements that store memories, a limited number of characters each. */
function* statements(memories: readonly ArchivedMemory[]) {
  let [first, characters] = [0, 0];
  for (const [at, memory] of memories.entries()) {
    if (at > first && characters + memory.content.length > STATEMENT_CHARACTERS_MAX) {
      yield parametersOf(memories.slice(first, at));
      [first, characters] = [at, 0];
    }
    characters += memory.content.length;
  }
  yield parametersOf(memories.slice(first));
}

function parametersOf(memories: readonly ArchivedMemory[]) {
  return {
    texts: {
      keys: memories.map(({ memoryKey }) => memoryKey),
      projects: memories.map(({ projectId }) => projectId),
      versions: memories.map(({ version }) => BigInt(version)),
      contents: memories.map(({ content }) => content.slice(0)),
    },
    chunks: chunkParameters(memories),
  };
}

function chunkParameters(memories: readonly Pick<ArchivedMemory, "memoryKey" | "chunks">[]) {
  const chunks = memories.flatMap(({ memoryKey, chunks: own }) => own.map((chunk) => ({ memoryKey, ...chunk })));
  return {
    memories: chunks.map(({ memoryKey }) => memoryKey),
    chunks: chunks.map(({ chunkKey }) => chunkKey),
    ordinals: chunks.map(({ ordinal }) => BigInt(ordinal)),
    starts: chunks.map(({ start }) => BigInt(start)),
    ends: chunks.map(({ end }) => BigInt(end)),
    headings: chunks.map(({ headings }) => JSON.stringify(headings)),
  };
}

/** Decodes keys that `int8send` has packed, in big-endian order. */
function unpackedKeys(packed: readonly Uint8Array[]): BigUint64Array {
  const bytes = Buffer.concat(packed);
  const keys = new DataView(bytes.buffer, bytes.byteOffset);
  return BigUint64Array.from({ length: bytes.length / 8 }, (_, at) => keys.getBigUint64(at * 8));
}

function toStored({ version, content, chunk_keys, ordinals, starts, ends }: StoredRow): StoredMemory {
  const chunks = (chunk_keys ?? []).map((chunkKey, at) => ({
    chunkKey: chunkKey as ChunkKey,
    ordinal: Number(ordinals?.[at]),
    start: Number(starts?.[at]),
    end: Number(ends?.[at]),
  }));
  return { version: Number(version), content, chunks };
}
