// StoreEngine on PostgreSQL. Each statement is a round trip, so many rows are stored by one statement.

import { invariant } from "../../domain/fault.ts";
import type { Clock } from "../../kit/clock.ts";
import type { CompletedRow, LeasedRow, NewMemory, RetaggedRow, StoreEngine } from "../engine.ts";
import { CLAIMABLE } from "../job-conditions.ts";
import { putContent } from "../memories/memory-change.ts";
import { type MemoryReads, RowReads } from "../memories/reads.ts";
import type { MemoryRow } from "../rows/memory.ts";
import { GIVEN_COLUMNS, GIVEN_NAMES } from "../rows/memory-columns.ts";
import { sourceColumns } from "../rows/memory-file.ts";
import { MEMORY_COLUMNS } from "../rows/sql.ts";
import type { Session } from "../session.ts";
import type { Client } from "./client.ts";
import { POSTGRES } from "./dialect.ts";
import { StampedMemories } from "./stamped-memories.ts";

const INSERTED = {
  id: "text",
  content_bytes: "bigint",
  hash: "text",
  source: "text",
  file: "text",
  media_type: "text",
  container: "text",
  original_file: "text",
  content: "text",
  ...Object.fromEntries(GIVEN_COLUMNS.map(({ name, type }) => [name, type])),
} as const;
// The keys grow in the order of the lists. A long content is stored by a statement of its own.
const INSERT = `WITH given AS (SELECT * FROM ${POSTGRES.rows(INSERTED)}), made AS (
    INSERT INTO memories (id, project_key, version, status, content_bytes, content_sha256, source, file, media_type,
      container, original_file, created_at, updated_at, claimable_at, ${GIVEN_NAMES})
    SELECT id, $projectKey, 1, 'processing', content_bytes, decode(hash, 'hex'), source, file, media_type, container,
      original_file,
      $now, $now, $now, ${GIVEN_NAMES}
    FROM given ORDER BY position
    RETURNING ${MEMORY_COLUMNS}
  ), waiting AS (
    INSERT INTO waiting_contents (memory_key, content)
    SELECT memory_key, content FROM made JOIN given USING (id) WHERE content IS NOT NULL
  )
  SELECT made.* FROM made`;
/** Maximum size of a content that is stored together with others, in UTF-16 code units. */
const SHORT_CHARACTERS_MAX = 64 * 1024;

const REMOVE_TAGS = "DELETE FROM memory_tags WHERE memory_key = ANY($keys::bigint[])";
const ADD_TAGS = `INSERT INTO memory_tags (project_key, tag, memory_key)
  SELECT DISTINCT project_key, tag, memory_key
  FROM ${POSTGRES.rows({ project_key: "bigint", tag: "text", memory_key: "bigint" })}`;

const COMPLETE = `UPDATE memories SET status = 'completed', title = given.title, title_folded = given.title_folded,
    type = given.type, tags = given.tags, language = given.language, extraction = given.extraction,
    chunk_count = given.chunk_count, content_bytes = given.content_bytes, source = given.source, file = given.file,
    media_type = given.media_type, container = given.container, original_bytes = given.original_bytes, lease = NULL,
    updated_at = given.updated_at, is_reindexed = 0
  FROM ${POSTGRES.rows({
    key: "bigint",
    ...{ title: "text", title_folded: "text", type: "text", tags: "text", language: "text", extraction: "text" },
    ...{ chunk_count: "bigint", content_bytes: "bigint", source: "text", file: "text", media_type: "text" },
    ...{ container: "text", original_bytes: "bigint", updated_at: "bigint" },
  })}
  WHERE memories.memory_key = given.key RETURNING ${MEMORY_COLUMNS}`;
const REMOVE_CONTENT = `WITH removed AS (DELETE FROM imported_vectors WHERE memory_key = ANY($keys::bigint[]))
  DELETE FROM waiting_contents WHERE memory_key = ANY($keys::bigint[])`;

// The tokens are taken while the rows are locked, so each is larger than those of all earlier claims of its row. They
// grow in the order of the keys.
const LEASE = `WITH token AS MATERIALIZED (
    SELECT key, nextval('lease_tokens') AS lease FROM unnest($keys::bigint[]) AS given (key))
  UPDATE memories SET lease = token.lease, leased_by = $node, claimable_at = $claimableAt, attempts = attempts + 1
  FROM token WHERE memories.memory_key = token.key
  RETURNING ${MEMORY_COLUMNS}, memories.content_sha256, memories.lease,
    (SELECT content FROM waiting_contents WHERE waiting_contents.memory_key = memories.memory_key) AS content`;

/** Frees the space of erased rows in the tables that have contents of memories. */
const VACUUM = "VACUUM memories, waiting_contents, memory_tags, memory_findings, document_facts, message_sources";

/** StoreEngine on PostgreSQL. */
export class PostgresEngine implements StoreEngine {
  /** The rows stay locked until the transaction ends. */
  readonly nextJobs = `SELECT given.project_key, next.memory_key, next.content_bytes
    FROM unnest($projectKeys::bigint[]) WITH ORDINALITY AS given (project_key, turn)
    CROSS JOIN LATERAL (SELECT memory_key, content_bytes, claimable_at FROM memories
      WHERE project_key = given.project_key AND ${CLAIMABLE(POSTGRES)} AND memory_key <> ALL($chosen::bigint[])
      ORDER BY claimable_at, memory_key LIMIT $share FOR NO KEY UPDATE SKIP LOCKED) AS next
    ORDER BY turn, claimable_at, memory_key`;

  /** Skips a row that another claim has locked: that claim also serves this project and moves it to the end. */
  readonly serveProjects = `UPDATE project_service SET served_lease = greatest(served_lease, free.lease)
    FROM (SELECT project_service.project_key, given.lease FROM project_service
      JOIN ${POSTGRES.rows({ project_key: "bigint", lease: "bigint" })} USING (project_key)
      FOR NO KEY UPDATE OF project_service SKIP LOCKED) AS free
    WHERE project_service.project_key = free.project_key`;

  readonly reserveChunkKeys = "UPDATE chunk_keys SET next = next + $count RETURNING next - $count AS first";

  constructor(private readonly client: Client) {}

  memoryReads(session: Session, clock: Clock): MemoryReads {
    const rows = new RowReads(session, clock);
    return session.readsCommitted ? new StampedMemories(rows, session, clock) : rows;
  }

  async insertMemories(
    session: Session,
    memories: readonly NewMemory[],
    to: { readonly projectKey: bigint; readonly now: number },
  ): Promise<readonly MemoryRow[]> {
    const sources = memories.map(({ source }) => sourceColumns(source));
    const isShort = ({ content }: NewMemory) => content.length <= SHORT_CHARACTERS_MAX;
    const made = await session.all<MemoryRow>(INSERT, {
      ...Object.fromEntries(GIVEN_COLUMNS.map(({ name }) => [name, memories.map(({ columns }) => columns[name])])),
      id: memories.map(({ id }) => id),
      content_bytes: memories.map(({ fingerprint }) => BigInt(fingerprint.contentBytes)),
      hash: memories.map(({ fingerprint }) => Buffer.from(fingerprint.contentSha256).toString("hex")),
      source: sources.map(({ source }) => source),
      file: sources.map(({ file }) => file),
      media_type: sources.map(({ media_type }) => media_type),
      container: sources.map(({ container }) => container),
      original_file: memories.map(({ originalFile }) => originalFile),
      content: memories.map((memory) => (isShort(memory) ? memory.content : null)),
      ...to,
    });
    const byId = new Map(made.map((row) => [row.id, row]));
    const rows = memories.map(({ id }) => {
      const row = byId.get(id);
      invariant(row !== undefined, "an inserted memory returned no row");
      return row;
    });
    await this.replaceTags(
      session,
      rows.map((row) => ({ row, before: null })),
    );
    for (const [at, memory] of memories.entries()) {
      const row = rows[at];
      if (row !== undefined && !isShort(memory)) await putContent(session, row.memory_key, memory.content);
    }
    return rows;
  }

  async replaceTags(session: Session, memories: readonly RetaggedRow[]): Promise<void> {
    const changed = memories.filter(({ row, before }) => row.tags !== before);
    const tagged = changed.filter(({ before }) => before !== null && before !== "[]");
    if (tagged.length > 0) await session.run(REMOVE_TAGS, { keys: tagged.map(({ row }) => row.memory_key) });
    const added = changed.flatMap(({ row }) => {
      const tags = row.tags === null ? [] : (JSON.parse(row.tags) as readonly string[]);
      return tags.map((tag) => ({ projectKey: row.project_key, tag, key: row.memory_key }));
    });
    if (added.length === 0) return;
    await session.run(ADD_TAGS, {
      project_key: added.map(({ projectKey }) => projectKey),
      tag: added.map(({ tag }) => tag),
      memory_key: added.map(({ key }) => key),
    });
  }

  async completeMemories(session: Session, memories: readonly CompletedRow[]): Promise<readonly MemoryRow[]> {
    const all = memories.map(({ columns }) => ({ ...columns, ...sourceColumns(columns.source) }));
    const completed = await session.all<MemoryRow>(COMPLETE, {
      key: all.map(({ key }) => key),
      title: all.map(({ title }) => title),
      title_folded: all.map(({ titleFolded }) => titleFolded),
      type: all.map(({ type }) => type),
      tags: all.map(({ tags }) => tags),
      language: all.map(({ language }) => language),
      extraction: all.map(({ extraction }) => extraction),
      chunk_count: all.map(({ chunkCount }) => BigInt(chunkCount)),
      content_bytes: all.map(({ contentBytes }) => BigInt(contentBytes)),
      source: all.map(({ source }) => source),
      file: all.map(({ file }) => file),
      media_type: all.map(({ media_type }) => media_type),
      container: all.map(({ container }) => container),
      original_bytes: all.map(({ originalBytes }) => BigInt(originalBytes)),
      updated_at: all.map(({ updatedAt }) => updatedAt),
    });
    const before = new Map(memories.map(({ row }) => [row.memory_key, row.tags]));
    await this.replaceTags(
      session,
      completed.map((row) => ({ row, before: before.get(row.memory_key) ?? null })),
    );
    await session.run(REMOVE_CONTENT, { keys: completed.map((row) => row.memory_key) });
    return completed;
  }

  leaseJobs(
    session: Session,
    keys: readonly bigint[],
    lease: { readonly claimableAt: number; readonly node: string },
  ): Promise<readonly LeasedRow[]> {
    return session.all<LeasedRow>(LEASE, { keys, ...lease });
  }

  /** The server frees the space of erased rows, and overwrites it when it is needed. Not part of a transaction. */
  async eraseTraces(): Promise<boolean> {
    await this.client.executeAlone(VACUUM);
    return true;
  }
}
