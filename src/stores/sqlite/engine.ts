// StoreEngine on SQLite. One connection writes, so nothing needs a lock. Statements run in this process, so each of
// many rows is stored by a small statement of its own. Triggers keep the tags (migrations.ts).

import { invariant } from "../../domain/fault.ts";
import type { Clock } from "../../kit/clock.ts";
import type { CompletedRow, LeasedRow, NewMemory, StoreEngine } from "../engine.ts";
import { CLAIMABLE } from "../job-conditions.ts";
import { putContent } from "../memories/memory-change.ts";
import { type MemoryReads, RowReads } from "../memories/reads.ts";
import type { MemoryRow } from "../rows/memory.ts";
import { GIVEN_NAMES, GIVEN_PARAMETERS } from "../rows/memory-columns.ts";
import { MEMORY_COLUMNS } from "../rows/sql.ts";
import type { Session } from "../session.ts";
import type { SqliteDatabase } from "./database.ts";
import { SQLITE } from "./dialect.ts";
import { RecentMemories } from "./recent-memories.ts";
import type { WriteQueue } from "./write-queue.ts";

const INSERT = `INSERT INTO memories (id, project_key, version, status, content_bytes, content_sha256, source,
    original_file, created_at, updated_at, claimable_at, ${GIVEN_NAMES})
  VALUES ($id, $projectKey, 1, 'processing', $contentBytes, $contentSha256, $source, $originalFile, $now, $now,
    $now, ${GIVEN_PARAMETERS})
  RETURNING ${MEMORY_COLUMNS}`;

const COMPLETE = `UPDATE memories SET status = 'completed', title = $title, title_folded = $titleFolded, type = $type,
    tags = $tags, language = $language, extraction = $extraction, chunk_count = $chunkCount,
    content_bytes = $contentBytes, source = $source, original_bytes = $originalBytes, lease = NULL,
    updated_at = $updatedAt, is_reindexed = 0
  WHERE memory_key = $key RETURNING ${MEMORY_COLUMNS}`;
const REMOVE_CONTENTS = `DELETE FROM waiting_contents WHERE memory_key ${SQLITE.isIn("keys")}`;
const REMOVE_VECTORS = `DELETE FROM imported_vectors WHERE memory_key ${SQLITE.isIn("keys")}`;

const TAKE_LEASES = "UPDATE sequences SET next = next + $count WHERE name = 'lease' RETURNING next - $count AS first";
const LEASE = `UPDATE memories SET lease = $first + given.key, claimable_at = $claimableAt, attempts = attempts + 1
  FROM ${SQLITE.elements("keys")} WHERE memories.memory_key = given.value
  RETURNING ${MEMORY_COLUMNS}, memories.content_sha256, memories.lease,
    (SELECT content FROM waiting_contents WHERE waiting_contents.memory_key = memories.memory_key) AS content`;

/** StoreEngine on SQLite. */
export class SqliteEngine implements StoreEngine {
  readonly nextJobs = `SELECT memories.project_key, memories.memory_key, memories.content_bytes
    FROM ${SQLITE.elements("projectKeys")} JOIN memories ON memories.memory_key IN (
      SELECT memories.memory_key FROM memories
      WHERE memories.project_key = given.value AND ${CLAIMABLE(SQLITE)}
        AND memories.memory_key ${SQLITE.isNotIn("chosen")}
      ORDER BY memories.claimable_at, memories.memory_key LIMIT $share)
    ORDER BY given.key, memories.claimable_at, memories.memory_key`;

  readonly serveProjects = `UPDATE projects SET served_lease = given.lease
    FROM ${SQLITE.rows({ project_key: "bigint", lease: "bigint" })} WHERE projects.project_key = given.project_key`;

  readonly reserveChunkKeys =
    "UPDATE sequences SET next = next + $count WHERE name = 'chunk_key' RETURNING next - $count AS first";

  /** @param writer the connection that writes, through `queue` */
  constructor(
    private readonly writer: SqliteDatabase,
    private readonly queue: WriteQueue,
  ) {}

  memoryReads(session: Session, clock: Clock): MemoryReads {
    const rows = new RowReads(session, clock);
    return session.readsCommitted ? new RecentMemories(rows, this.writer.changes, clock) : rows;
  }

  async insertMemories(
    session: Session,
    memories: readonly NewMemory[],
    to: { readonly projectKey: bigint; readonly now: number },
  ): Promise<readonly MemoryRow[]> {
    const rows: MemoryRow[] = [];
    for (const { id, content, fingerprint, source, originalFile, columns } of memories) {
      const row = await session.get<MemoryRow>(INSERT, { id, source, originalFile, ...columns, ...fingerprint, ...to });
      invariant(row !== null, "an inserted memory returned no row");
      await putContent(session, row.memory_key, content);
      rows.push(row);
    }
    return rows;
  }

  async replaceTags(): Promise<void> {}

  async completeMemories(session: Session, memories: readonly CompletedRow[]): Promise<readonly MemoryRow[]> {
    const completed: MemoryRow[] = [];
    for (const { columns } of memories) {
      const row = await session.get<MemoryRow>(COMPLETE, columns);
      if (row !== null) completed.push(row);
    }
    const keys = completed.map((row) => row.memory_key);
    for (const remove of [REMOVE_CONTENTS, REMOVE_VECTORS]) await session.run(remove, { keys });
    return completed;
  }

  async leaseJobs(
    session: Session,
    keys: readonly bigint[],
    { claimableAt }: { readonly claimableAt: number },
  ): Promise<readonly LeasedRow[]> {
    const taken = await session.get<{ first: bigint }>(TAKE_LEASES, { count: keys.length });
    invariant(taken !== null, "the counter of leases is missing");
    return session.all<LeasedRow>(LEASE, { keys, first: taken.first, claimableAt });
  }

  /**
   * In the main file, zeros replace erased rows (secure_delete). But the log still has earlier versions of the pages.
   */
  async eraseTraces(): Promise<boolean> {
    return this.queue.run(() => this.writer.emptyLog());
  }
}
