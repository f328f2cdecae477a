// SharedIndex on PostgreSQL. Triggers number the changes (migration-nodes.ts). A publication is stored here only if its
// job is still held: no later claim, and no newer version.

import { invariant } from "../../domain/fault.ts";
import type { ChunkKey, MemoryKey, ProjectId } from "../../domain/ids.ts";
import type { ModelVectors } from "../../ports/chunk-index.ts";
import type {
  LoadedPublication,
  ReplacingMemory,
  SharedChanges,
  SharedIndex,
  SharedMemory,
  SharedState,
  WantedPublication,
} from "../../ports/shared-index.ts";
import type { MemoryRow } from "../rows/memory.ts";
import { OPEN_PROJECT, PROJECT_KEY, VISIBLE_COLUMNS } from "../rows/sql.ts";
import { type VisibleRow, visibleOf } from "../rows/visible.ts";
import type { Client } from "./client.ts";
import { ProjectTurns } from "./project-turns.ts";
import { packTexts, packVectors, partsOf, unpackTexts, unpackVectors } from "./publication-parts.ts";
import { inWritingSession, ReadingSession, type WritingSession } from "./session.ts";
import { SharedReads } from "./shared-reads.ts";
import { putChunks, putTexts } from "./texts.ts";

/** Number of changes that one statement reads. */
const PAGE_CHANGES = 5_000;
/** Number of keys of memories that one statement reads. */
const PAGE_KEYS = 20_000;
/** Maximum number of notes of changes that one call removes. */
const PRUNED_CHANGES_MAX = 50_000;
/** Maximum size of the packed parts of one statement in bytes, unless a single part is larger. */
const STATEMENT_BYTES_MAX = 4 * 1024 * 1024;

const SEQUENCES = "SELECT id, sequence FROM projects WHERE id = ANY($ids::text[]) AND deleted_at IS NULL";
const CHANGES = `SELECT sequence, memory_key FROM project_changes
  WHERE project_key = ${OPEN_PROJECT} AND (sequence, memory_key) > ($sequence::bigint, $memory::bigint)
  ORDER BY sequence, memory_key LIMIT $limit`;
// skips rows that another node removes
const PRUNE = `DELETE FROM project_changes WHERE ctid = ANY(ARRAY(SELECT ctid FROM project_changes
  WHERE changed_at < now() - interval '1 day' LIMIT $limit FOR UPDATE SKIP LOCKED))`;
const COMPLETED = `SELECT memory_key FROM memories
  WHERE project_key = ${OPEN_PROJECT} AND status = 'completed' AND deleted_at IS NULL AND memory_key > $after::bigint
  ORDER BY memory_key LIMIT $limit`;
const STATES = `SELECT ${VISIBLE_COLUMNS}, memories.status, memories.chunk_count, memories.deleted_at,
    texts.first_chunk_key,
    CASE WHEN memories.status = 'processing' AND memories.deleted_at IS NULL AND texts.first_chunk_key IS NOT NULL
        AND texts.version = memories.version
      THEN (SELECT count(*) FROM chunks WHERE chunks.memory_key = memories.memory_key) END AS coming_chunks
  FROM memories LEFT JOIN texts USING (memory_key)
  WHERE memories.memory_key = ANY($keys::bigint[]) AND project_key = ${PROJECT_KEY}`;
// The locks last until the publication is committed, so no job loses its lease in between. They are taken in the order
// of the keys.
const HELD = `SELECT memories.memory_key FROM memories
  JOIN unnest($keys::bigint[], $leases::bigint[], $versions::bigint[]) AS job (memory_key, lease, version)
    ON memories.memory_key = job.memory_key AND memories.lease = job.lease AND memories.version = job.version
  WHERE memories.status = 'processing' AND memories.deleted_at IS NULL
  ORDER BY memories.memory_key FOR NO KEY UPDATE OF memories`;
// the locks last until the publication is committed, so no memory is changed in between
const SAME = `SELECT memories.memory_key FROM memories JOIN texts USING (memory_key)
    JOIN unnest($keys::bigint[], $firsts::bigint[]) AS given (memory_key, first)
      ON memories.memory_key = given.memory_key AND texts.first_chunk_key = given.first
  WHERE memories.status = 'completed' AND memories.deleted_at IS NULL
  ORDER BY memories.memory_key FOR NO KEY UPDATE OF memories`;
// a trigger notes every update of a completed memory
const NOTE_CHANGE = "UPDATE memories SET attempts = attempts WHERE memory_key = ANY($keys::bigint[])";
const ANNOUNCE = `WITH numbered AS (
    UPDATE projects SET sequence = sequence + 1 WHERE id = $project AND deleted_at IS NULL
      AND EXISTS (SELECT FROM memories WHERE memory_key = $memory::bigint)
    RETURNING project_key, sequence
  )
  INSERT INTO project_changes (project_key, sequence, memory_key)
    SELECT project_key, sequence, $memory::bigint FROM numbered`;
const SET_FIRST_CHUNKS = `UPDATE texts SET first_chunk_key = given.first
  FROM unnest($keys::bigint[], $firsts::bigint[]) AS given (memory_key, first)
  WHERE texts.memory_key = given.memory_key`;
const REMOVE_PARTS = "DELETE FROM publication_parts WHERE memory_key = ANY($keys::bigint[])";
const REMOVE_VECTORS = "DELETE FROM publication_vectors WHERE memory_key = ANY($keys::bigint[])";
const GIVEN = `FROM unnest($keys::bigint[], $parts::bigint[], $firsts::bigint[], $starts::bigint[], $lengths::bigint[])
  AS given (memory_key, part, first_chunk_key, starts, lengths)`;
// all bytes are one parameter, because arrays of bytes would be sent as text
const SLICE = "substring($bytes::bytea FROM starts::int FOR lengths::int)";
const PUT_PARTS = `INSERT INTO publication_parts (memory_key, part, first_chunk_key, texts)
  SELECT memory_key, part, first_chunk_key, ${SLICE} ${GIVEN}`;
// leaves out memories that were published again since: their first chunks have other keys
const PUT_VECTORS = `INSERT INTO publication_vectors (memory_key, model_key, part, first_chunk_key, vectors)
  SELECT given.memory_key, $model, part, given.first_chunk_key, ${SLICE} ${GIVEN}
  JOIN texts ON texts.memory_key = given.memory_key AND texts.first_chunk_key = given.first_chunk_key
  ON CONFLICT (memory_key, model_key, part) DO UPDATE SET first_chunk_key = excluded.first_chunk_key,
    vectors = excluded.vectors`;
const PARTS = `SELECT memory_key, part, first_chunk_key, texts AS bytes FROM publication_parts
  WHERE memory_key = ANY($keys::bigint[]) ORDER BY memory_key, part`;
const VECTORS = `SELECT memory_key, part, first_chunk_key, vectors AS bytes FROM publication_vectors
  WHERE memory_key = ANY($keys::bigint[]) AND model_key = $model ORDER BY memory_key, part`;
const MODEL = "SELECT model_key FROM vector_models WHERE fingerprint = $fingerprint";
const ADD_MODEL = "INSERT INTO vector_models (fingerprint) VALUES ($fingerprint) ON CONFLICT DO NOTHING";
const REMOVE_OTHER_MODELS = `DELETE FROM publication_vectors USING texts, vector_models
  WHERE texts.memory_key = publication_vectors.memory_key AND texts.project_id = $project
    AND vector_models.model_key = publication_vectors.model_key
    AND vector_models.fingerprint <> ALL($models::text[])`;

interface StateRow extends VisibleRow, Pick<MemoryRow, "status" | "chunk_count"> {
  readonly deleted_at: bigint | null;
  readonly first_chunk_key: bigint | null;
  readonly coming_chunks: bigint | null;
}

interface PartRow {
  readonly memory_key: bigint;
  readonly part: bigint;
  readonly first_chunk_key: bigint;
  readonly bytes: Uint8Array;
}

/** One part to store. */
interface Part {
  readonly memoryKey: bigint;
  readonly part: number;
  readonly firstChunkKey: bigint;
  readonly bytes: Uint8Array;
}

/** SharedIndex on PostgreSQL. */
export class PostgresSharedIndex implements SharedIndex {
  readonly #reading: ReadingSession;
  readonly #turns = new ProjectTurns();
  readonly #modelKeys = new Map<string, bigint>();
  readonly #sequences = new SharedReads<ProjectId, number>((ids) => this.sequences(ids));

  constructor(private readonly client: Client) {
    this.#reading = new ReadingSession(client);
  }

  sequence(projectId: ProjectId): Promise<number | null> {
    return this.#sequences.get(projectId);
  }

  async sequences(projectIds: readonly ProjectId[]): Promise<ReadonlyMap<ProjectId, number>> {
    if (projectIds.length === 0) return new Map();
    type Row = { readonly id: string; readonly sequence: bigint };
    const rows = await this.#reading.all<Row>(SEQUENCES, { ids: projectIds });
    return new Map(rows.map(({ id, sequence }) => [id as ProjectId, Number(sequence)]));
  }

  async changesAfter(project: ProjectId, sequence: number): Promise<SharedChanges> {
    type Row = { readonly sequence: bigint; readonly memory_key: bigint };
    const keys = new Set<bigint>();
    let last = { sequence: BigInt(sequence), memory_key: 2n ** 63n - 1n };
    let expected = last.sequence + 1n;
    for (;;) {
      const params = { project, sequence: last.sequence, memory: last.memory_key, limit: PAGE_CHANGES };
      const page = await this.#reading.all<Row>(CHANGES, params);
      for (const row of page) {
        // numbers have no gaps, unless old notes were removed
        if (row.sequence > expected) return { memoryKeys: [], sequence, isIncomplete: true };
        expected = row.sequence + 1n;
        keys.add(row.memory_key);
        last = row;
      }
      if (page.length < PAGE_CHANGES) {
        return { memoryKeys: [...keys] as MemoryKey[], sequence: Number(last.sequence), isIncomplete: false };
      }
    }
  }

  async *completed(project: ProjectId): AsyncGenerator<readonly MemoryKey[]> {
    for (let [after, isLast] = [0n, false]; !isLast; ) {
      type Row = { readonly memory_key: bigint };
      const rows = await this.#reading.all<Row>(COMPLETED, { project, after, limit: PAGE_KEYS });
      isLast = rows.length < PAGE_KEYS;
      after = rows.at(-1)?.memory_key ?? after;
      yield rows.map((row) => row.memory_key as MemoryKey);
    }
  }

  async states(project: ProjectId, keys: readonly MemoryKey[]): Promise<readonly SharedState[]> {
    if (keys.length === 0) return [];
    return (await this.#reading.all<StateRow>(STATES, { project, keys })).map((row) => {
      const isDeleted = row.deleted_at !== null;
      const [memoryKey, firstChunkKey] = [row.memory_key as MemoryKey, row.first_chunk_key as ChunkKey | null];
      const comingChunks = Number(row.coming_chunks ?? 0);
      return {
        memoryKey,
        visible: row.status === "completed" && !isDeleted ? visibleOf(row) : null,
        isDeleted,
        chunkCount: Number(row.chunk_count),
        firstChunkKey,
        coming:
          firstChunkKey !== null && comingChunks > 0 ? { memoryKey, firstChunkKey, chunkCount: comingChunks } : null,
      };
    });
  }

  async publish(memories: readonly SharedMemory[]): Promise<ReadonlySet<MemoryKey>> {
    const models = new Set(memories.flatMap(({ vectors }) => vectors.map(({ fingerprint }) => fingerprint)));
    for (const fingerprint of models) await this.#modelKey(fingerprint);
    return this.#write(async (session) => {
      const held = await this.#held(session, memories);
      const kept = memories.filter(({ memoryKey }) => held.has(memoryKey));
      if (kept.length === 0) return held;
      await putTexts(session, kept);
      await this.#putPublications(session, kept, models);
      return held;
    });
  }

  async announce(project: ProjectId, memory: MemoryKey): Promise<void> {
    await this.#write(async (session) => {
      await session.lock([project]); // as every change of memories does, so that no two wait for each other
      await session.run(ANNOUNCE, { project, memory });
    });
  }

  async replace(project: ProjectId, memories: readonly ReplacingMemory[]): Promise<ReadonlySet<MemoryKey>> {
    const models = new Set(memories.flatMap(({ vectors }) => vectors.map(({ fingerprint }) => fingerprint)));
    for (const fingerprint of models) await this.#modelKey(fingerprint);
    return this.#write(async (session) => {
      await session.lock([project]); // before the rows of memories, as every change of them does
      const params = {
        keys: memories.map(({ memoryKey }) => memoryKey),
        firsts: memories.map(({ replaces }) => replaces),
      };
      const rows = await session.all<{ readonly memory_key: bigint }>(SAME, params);
      const same = new Set(rows.map((row) => row.memory_key as MemoryKey));
      const kept = memories.filter(({ memoryKey }) => same.has(memoryKey));
      if (kept.length === 0) return same;
      await putChunks(session, kept);
      await this.#putPublications(session, kept, models);
      await session.run(NOTE_CHANGE, { keys: [...same] });
      return same;
    });
  }

  /** Replaces packed texts and vectors in an open transaction. `#modelKey` must know the models already. */
  async #putPublications(
    session: WritingSession,
    memories: readonly PackableMemory[],
    models: ReadonlySet<string>,
  ): Promise<void> {
    const keys = memories.map(({ memoryKey }) => memoryKey);
    await session.run(REMOVE_PARTS, { keys });
    await session.run(REMOVE_VECTORS, { keys });
    const withChunks = memories.filter(({ chunks }) => chunks.length > 0);
    const firsts = withChunks.map(firstChunkKeyOf);
    await session.run(SET_FIRST_CHUNKS, { keys: withChunks.map(({ memoryKey }) => memoryKey), firsts });
    await putParts(session, PUT_PARTS, {}, textParts(withChunks));
    for (const fingerprint of models) {
      const model = await this.#modelKey(fingerprint);
      await putParts(session, PUT_VECTORS, { model }, vectorParts(withChunks, fingerprint));
    }
  }

  async publications(
    wanted: readonly WantedPublication[],
    models: readonly string[],
  ): Promise<readonly LoadedPublication[]> {
    const keys = wanted.map(({ memoryKey }) => memoryKey);
    if (keys.length === 0) return [];
    const texts = Map.groupBy(await this.#reading.all<PartRow>(PARTS, { keys }), (row) => row.memory_key);
    const vectors = new Map<string, Map<bigint, PartRow[]>>();
    for (const fingerprint of models) {
      const model = await this.#modelKey(fingerprint);
      const rows = await this.#reading.all<PartRow>(VECTORS, { keys, model });
      vectors.set(
        fingerprint,
        Map.groupBy(rows, (row) => row.memory_key),
      );
    }
    return wanted.flatMap((each) => {
      const packed = completeParts(texts.get(each.memoryKey), each);
      if (packed === null) return [];
      const ofModels = models.flatMap((fingerprint): ModelVectors[] => {
        const parts = completeParts(vectors.get(fingerprint)?.get(each.memoryKey), each);
        return parts === null ? [] : [{ fingerprint, vectors: unpackVectors(parts) }];
      });
      const { language, entities, chunks } = unpackTexts(packed[0] ?? new Uint8Array(0));
      const part = (number: number) =>
        number === 0 ? chunks : unpackTexts(packed[number] ?? new Uint8Array(0)).chunks;
      return [{ ...each, language, entities, vectors: ofModels, part }];
    });
  }

  async addVectors(added: readonly (WantedPublication & { readonly vectors: ModelVectors })[]): Promise<void> {
    for (const [fingerprint, ofModel] of Map.groupBy(added, ({ vectors }) => vectors.fingerprint)) {
      const model = await this.#modelKey(fingerprint);
      await this.#write((session) => putParts(session, PUT_VECTORS, { model }, addedParts(ofModel)));
    }
  }

  async keepModels(project: ProjectId, models: readonly string[]): Promise<void> {
    await this.#write((session) => session.run(REMOVE_OTHER_MODELS, { project, models }));
  }

  async prune(): Promise<void> {
    await this.#write((session) => session.run(PRUNE, { limit: PRUNED_CHANGES_MAX }));
  }

  async #held(session: WritingSession, memories: readonly SharedMemory[]): Promise<ReadonlySet<MemoryKey>> {
    const params = {
      keys: memories.map(({ memoryKey }) => memoryKey),
      leases: memories.map(({ lease }) => BigInt(lease)),
      versions: memories.map(({ version }) => BigInt(version)),
    };
    const rows = await session.all<{ readonly memory_key: bigint }>(HELD, params);
    return new Set(rows.map((row) => row.memory_key as MemoryKey));
  }

  async #modelKey(fingerprint: string): Promise<bigint> {
    const known = this.#modelKeys.get(fingerprint);
    if (known !== undefined) return known;
    type Row = { readonly model_key: bigint };
    const find = () => this.#reading.get<Row>(MODEL, { fingerprint });
    let row = await find();
    if (row === null) {
      await this.#write((session) => session.run(ADD_MODEL, { fingerprint }));
      row = await find();
    }
    invariant(row !== null, "a model was added but is missing");
    this.#modelKeys.set(fingerprint, row.model_key);
    return row.model_key;
  }

  #write<T>(work: (session: WritingSession) => Promise<T>): Promise<T> {
    return inWritingSession(this.client, this.#turns, work);
  }
}

/** The part of a memory that is packed. */
type PackableMemory = Omit<SharedMemory, "version" | "lease" | "content">;

function firstChunkKeyOf({ chunks }: Pick<SharedMemory, "chunks">): bigint {
  return chunks[0]?.chunkKey ?? 0n;
}

function* textParts(memories: readonly PackableMemory[]): Generator<Part> {
  for (const memory of memories) {
    const shared = { memoryKey: memory.memoryKey, firstChunkKey: firstChunkKeyOf(memory) };
    for (let part = 0; part < partsOf(memory.chunks.length); part++) {
      yield { ...shared, part, bytes: packTexts(memory, part) };
    }
  }
}

function vectorParts(memories: readonly PackableMemory[], fingerprint: string): Generator<Part> {
  return addedParts(
    memories.flatMap((memory) => {
      const vectors = memory.vectors.find((each) => each.fingerprint === fingerprint);
      if (vectors === undefined) return [];
      const firstChunkKey = firstChunkKeyOf(memory) as ChunkKey;
      return [{ memoryKey: memory.memoryKey, firstChunkKey, chunkCount: memory.chunks.length, vectors }];
    }),
  );
}

function* addedParts(added: readonly (WantedPublication & { readonly vectors: ModelVectors })[]): Generator<Part> {
  for (const { memoryKey, firstChunkKey, chunkCount, vectors } of added) {
    for (let part = 0; part < partsOf(chunkCount); part++) {
      yield { memoryKey, firstChunkKey, part, bytes: packVectors(vectors, chunkCount, part) };
    }
  }
}

/** Stores parts with as few statements as their size allows. */
async function putParts(
  session: WritingSession,
  sql: string,
  more: { readonly model?: bigint },
  parts: Iterable<Part>,
): Promise<void> {
  let [batch, bytes]: [Part[], number] = [[], 0];
  const flush = async () => {
    const starts: bigint[] = [];
    let at = 1; // substring counts from 1
    for (const part of batch) {
      starts.push(BigInt(at));
      at += part.bytes.length;
    }
    await session.run(sql, {
      ...more,
      bytes: Buffer.concat(batch.map((part) => part.bytes)),
      keys: batch.map(({ memoryKey }) => memoryKey),
      parts: batch.map(({ part }) => BigInt(part)),
      firsts: batch.map(({ firstChunkKey }) => firstChunkKey),
      starts,
      lengths: batch.map((part) => BigInt(part.bytes.length)),
    });
    [batch, bytes] = [[], 0];
  };
  for (const part of parts) {
    if (batch.length > 0 && bytes + part.bytes.length > STATEMENT_BYTES_MAX) await flush();
    batch.push(part);
    bytes += part.bytes.length;
  }
  if (batch.length > 0) await flush();
}

/** The bytes of all parts of a publication in order; null if one is missing or belongs to another publication. */
function completeParts(
  rows: readonly PartRow[] | undefined,
  { firstChunkKey, chunkCount }: WantedPublication,
): readonly Uint8Array[] | null {
  const own = rows?.filter((row) => row.first_chunk_key === firstChunkKey) ?? [];
  return own.length === partsOf(chunkCount) ? own.map(({ bytes }) => bytes) : null;
}
