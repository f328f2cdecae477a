// Stores publications that are moved into the database, with unchanged bytes, and lists those that are moved out of it.
// shared-index.ts stores and loads publications for nodes.

import type { ProjectId } from "../../../domain/ids.ts";
import type { WantedPublication } from "../../../ports/shared-index.ts";
import type { Client, Connection } from "../client.ts";
import { inTransaction } from "./transaction.ts";

/** Number of memories that one statement returns. */
const PAGE_MEMORIES = 500;

/** A publication to store. */
export interface MovedPublication {
  readonly memoryKey: string;
  readonly firstChunkKey: string;
  readonly texts: readonly Uint8Array[];
  readonly vectors: readonly { readonly fingerprint: string; readonly parts: readonly Uint8Array[] }[];
}

const PUT_TEXTS = `INSERT INTO publication_parts (memory_key, part, first_chunk_key, texts)
  SELECT memory_key, part, first_chunk_key, decode(bytes, 'base64')
  FROM json_to_recordset($1::text::json) AS given (memory_key bigint, part bigint, first_chunk_key bigint, bytes text)
  ON CONFLICT DO NOTHING RETURNING memory_key, encode(sha256(texts), 'hex') AS sha256, part, '' AS fingerprint`;
const PUT_VECTORS = `WITH stored AS (
    INSERT INTO publication_vectors (memory_key, model_key, part, first_chunk_key, vectors)
    SELECT memory_key, model_key, part, first_chunk_key, decode(bytes, 'base64')
    FROM json_to_recordset($1::text::json)
      AS given (memory_key bigint, part bigint, first_chunk_key bigint, bytes text, fingerprint text)
      JOIN vector_models USING (fingerprint)
    ON CONFLICT DO NOTHING RETURNING memory_key, encode(sha256(vectors), 'hex') AS sha256, part, model_key)
  SELECT memory_key, sha256, part, fingerprint FROM stored JOIN vector_models USING (model_key)`;
const ADD_MODEL = "INSERT INTO vector_models (fingerprint) VALUES ($1) ON CONFLICT DO NOTHING";
const SET_FIRST_CHUNKS = `UPDATE texts SET first_chunk_key = given.first_chunk_key
  FROM json_to_recordset($1::text::json) AS given (memory_key bigint, first_chunk_key bigint)
  WHERE texts.memory_key = given.memory_key`;
const NOTE = "UPDATE mneme_migration SET last_publication = $1";
const PUBLISHED = `SELECT memories.memory_key, chunk_count, first_chunk_key
  FROM memories JOIN projects USING (project_key) JOIN texts USING (memory_key)
  WHERE projects.id = $1 AND memories.memory_key > $2 AND status = 'completed' AND memories.deleted_at IS NULL
    AND chunk_count > 0 AND first_chunk_key IS NOT NULL
  ORDER BY memories.memory_key LIMIT ${PAGE_MEMORIES}`;
const COUNT = `SELECT count(*) AS count FROM memories JOIN projects USING (project_key) JOIN texts USING (memory_key)
  WHERE projects.deleted_at IS NULL AND status = 'completed' AND memories.deleted_at IS NULL
    AND chunk_count > 0 AND first_chunk_key IS NOT NULL`;
const PROJECTS = `SELECT projects.id, project_models.live, project_models.model, project_models.state
  FROM projects LEFT JOIN project_models USING (project_key) WHERE projects.deleted_at IS NULL ORDER BY projects.id`;

/** A project, and the ids of its models. */
export interface MovedProject {
  readonly id: ProjectId;
  /** null: no server has opened its index. */
  readonly live: string | null;
  /** The model whose vectors are being built; null if there is none. */
  readonly building: string | null;
}

/**
 * Stores publications, notes the place of the last one, and compares what the server has stored with what was sent.
 * @throws Error if they differ
 */
export async function putPublications(
  client: Client,
  publications: readonly MovedPublication[],
  lastPlace: string,
): Promise<void> {
  await inTransaction(client, async (connection) => {
    const models = new Set(publications.flatMap(({ vectors }) => vectors.map(({ fingerprint }) => fingerprint)));
    for (const fingerprint of models) await connection.query(ADD_MODEL, [fingerprint]);
    await put(
      connection,
      PUT_TEXTS,
      publications.flatMap(({ texts, ...of }) => rowsOf(of, texts, "")),
    );
    const vectors = publications.flatMap(({ vectors: ofModels, ...of }) =>
      ofModels.flatMap(({ fingerprint, parts }) => rowsOf(of, parts, fingerprint)),
    );
    await put(connection, PUT_VECTORS, vectors);
    const firsts = publications.map(({ memoryKey, firstChunkKey }) => {
      return { memory_key: memoryKey, first_chunk_key: firstChunkKey };
    });
    await connection.query(SET_FIRST_CHUNKS, [JSON.stringify(firsts)]);
    await connection.query(NOTE, [lastPlace]);
  });
}

/** The projects of the database. */
export async function movedProjects(client: Client): Promise<readonly MovedProject[]> {
  const { rows } = await client.read(PROJECTS, []);
  return (rows as readonly Readonly<Record<string, string | null>>[]).map(({ id, live, model, state }) => ({
    id: id as ProjectId,
    live: live ?? null,
    building: state === "building" ? (model ?? null) : null,
  }));
}

/** Number of publications in the database. */
export async function countPublications(client: Client): Promise<number> {
  return Number((await client.read(COUNT, [])).rows[0]?.count);
}

/**
 * The next publications of a project, whose memories have larger keys than the given one, in the order of their keys.
 * Empty after the last one.
 */
export async function publishedAfter(
  client: Client,
  project: ProjectId,
  after: bigint,
): Promise<readonly WantedPublication[]> {
  const { rows } = await client.read(PUBLISHED, [project, after]);
  return rows.map(({ memory_key, chunk_count, first_chunk_key }) => ({
    memoryKey: memory_key as WantedPublication["memoryKey"],
    firstChunkKey: first_chunk_key as WantedPublication["firstChunkKey"],
    chunkCount: Number(chunk_count),
  }));
}

interface PartRow {
  readonly memory_key: string;
  readonly first_chunk_key: string;
  readonly part: number;
  readonly fingerprint: string;
  readonly bytes: Uint8Array;
}

function rowsOf(
  { memoryKey, firstChunkKey }: Pick<MovedPublication, "memoryKey" | "firstChunkKey">,
  parts: readonly Uint8Array[],
  fingerprint: string,
): readonly PartRow[] {
  return parts.map((bytes, part) => {
    return { memory_key: memoryKey, first_chunk_key: firstChunkKey, part, fingerprint, bytes };
  });
}

async function put(connection: Connection, sql: string, rows: readonly PartRow[]): Promise<void> {
  if (rows.length === 0) return;
  const sent = rows.map((row) => ({ ...row, bytes: Buffer.from(row.bytes).toString("base64") }));
  const { rows: stored } = await connection.query(sql, [JSON.stringify(sent)]);
  const hashes = new Map(
    stored.map(({ memory_key, part, fingerprint, sha256 }) => [[memory_key, part, fingerprint].join(), sha256]),
  );
  for (const { memory_key, part, fingerprint, bytes } of rows) {
    const expected = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
    if (hashes.get([memory_key, part, fingerprint].join()) === expected) continue;
    throw new Error(`The database has stored other bytes of memory ${memory_key} than it was sent: run it again.`);
  }
}
