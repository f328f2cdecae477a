// MemoryStore on PostgreSQL. Reads by id or key are here; lists, intake, changes and deletion are in files of their
// own.

import type { Fault } from "../../domain/fault.ts";
import type { MemoryId, MemoryKey, ProjectId, UserKey } from "../../domain/ids.ts";
import type { Memory, MemoryChange, MemoryDraft, MemoryStatus, ReceivedFile } from "../../domain/memory.ts";
import type { Page } from "../../domain/page.ts";
import type { VisibleMemory } from "../../ports/chunk-index.ts";
import type { Accepted, MemoryListing, MemoryStore } from "../../ports/memory-store.ts";
import type { TextFile } from "../../ports/upload-files.ts";
import type { StoreContext } from "../context.ts";
import { type MemoryRow, toMemory } from "../rows/memory.ts";
import { fingerprintOfFile } from "../rows/memory-file.ts";
import { LIVE, MEMORY_COLUMNS, OPEN_PROJECT, VISIBLE_COLUMNS } from "../rows/sql.ts";
import { type VisibleRow, visibleOf } from "../rows/visible.ts";
import type { Session } from "../session.ts";
import { userKeyOf } from "../user-rows.ts";
import { MemoryChanges } from "./memory-change.ts";
import { MemoryDeletion } from "./memory-deletion.ts";
import type { MemoryExpiry } from "./memory-expiry.ts";
import { MemoryIntake } from "./memory-intake.ts";
import { MemoryLists } from "./memory-list.ts";
import type { PostgresOutbox } from "./outbox.ts";
import { ProjectQuotas } from "./project-quotas.ts";
import { RecentMemories, STAMP, type StampedMemory } from "./recent-memories.ts";

const OF_IDS = `FROM memories JOIN projects USING (project_key)
  WHERE memories.id = ANY($keys::text[]) AND projects.deleted_at IS NULL AND ${LIVE}`;
const GET = `SELECT memories.id AS asked, projects.id AS project_id, ${STAMP}, ${MEMORY_COLUMNS} ${OF_IDS}`;
const STAMPS = `SELECT memories.id AS asked, ${STAMP} ${OF_IDS}`;
const GET_MANY = `SELECT ${MEMORY_COLUMNS} FROM memories
  WHERE memory_key = ANY($keys::bigint[]) AND project_key = ${OPEN_PROJECT} AND ${LIVE}`;
const CONTENTS = `SELECT memories.memory_key, content FROM memories JOIN waiting_contents USING (memory_key)
  WHERE memories.memory_key = ANY($keys::bigint[]) AND ${LIVE}`;
// a long text that is kept in a file has no media type
const TEXT_FILES = `SELECT memory_key, file AS name, encode(content_sha256, 'hex') AS sha256 FROM memories
  WHERE memory_key = ANY($keys::bigint[]) AND file IS NOT NULL AND media_type IS NULL AND ${LIVE}`;
const VISIBLE = `SELECT ${VISIBLE_COLUMNS} FROM memories
  WHERE project_key = ${OPEN_PROJECT} AND status = 'completed' AND ${LIVE} AND memory_key > $afterKey
  ORDER BY memory_key LIMIT $limit`;
const MADE_FROM = `SELECT 1 AS found FROM memories
  WHERE id = $id AND project_key = ${OPEN_PROJECT} AND ${LIVE} AND content_sha256 = $sha256`;
const UNREFERENCED = `SELECT name FROM unnest($names::text[]) AS given (name)
  WHERE NOT EXISTS (SELECT 1 FROM memories WHERE file = name)`;
const COUNTS = `SELECT status, count(*) AS memories FROM memories WHERE ${LIVE} GROUP BY status`;

interface StampedRow extends MemoryRow {
  readonly project_id: string;
  readonly stamp: string;
}

/** MemoryStore on PostgreSQL. */
export class PostgresMemoryStore implements MemoryStore {
  readonly #recent = new RecentMemories();
  readonly #lists: MemoryLists;
  readonly #changes: MemoryChanges;
  readonly #intake: MemoryIntake;
  readonly #deletion: MemoryDeletion;

  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
    expiry: MemoryExpiry,
    outbox: PostgresOutbox,
  ) {
    const { clock } = context;
    const quotas = new ProjectQuotas(session, expiry);
    this.#lists = new MemoryLists(session, clock);
    this.#changes = new MemoryChanges(session, clock, expiry, quotas, outbox);
    this.#intake = new MemoryIntake(session, context, this.#changes, quotas);
    this.#deletion = new MemoryDeletion(session, clock, outbox);
  }

  async get(projectId: ProjectId, id: MemoryId): Promise<Memory | null> {
    const read = await this.#stamped(id);
    return read === null || read.projectId !== projectId ? null : read.memory;
  }

  async #stamped(id: MemoryId): Promise<StampedMemory | null> {
    const params = { now: this.#now };
    const known = this.#recent.get(id);
    if (known !== null) {
      const row = await this.session.getShared<Pick<StampedRow, "stamp">>(STAMPS, id, params);
      if (row?.stamp === known.stamp) return known;
      this.#recent.forget(id);
      if (row === null) return null;
    }
    const row = await this.session.getShared<StampedRow>(GET, id, params);
    if (row === null) return null;
    const read = { projectId: row.project_id as ProjectId, stamp: row.stamp, memory: toMemory(row) };
    if (this.session.readsCommitted) this.#recent.put(read);
    return read;
  }

  async getMany(projectId: ProjectId, keys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, Memory>> {
    if (keys.length === 0) return new Map();
    const rows = await this.session.all<MemoryRow>(GET_MANY, { project: projectId, keys, now: this.#now });
    return new Map(rows.map((row) => [row.memory_key as MemoryKey, toMemory(row)]));
  }

  async waitingContents(keys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, string>> {
    if (keys.length === 0) return new Map();
    const params = { keys, now: this.#now };
    const rows = await this.session.all<{ memory_key: bigint; content: string }>(CONTENTS, params);
    return new Map(rows.map((row) => [row.memory_key as MemoryKey, row.content]));
  }

  async waitingTextFiles(keys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, TextFile>> {
    const params = { keys, now: this.#now };
    const rows = await this.session.all<TextFile & { memory_key: bigint }>(TEXT_FILES, params);
    return new Map(rows.map(({ memory_key, name, sha256 }) => [memory_key as MemoryKey, { name, sha256 }]));
  }

  async isMadeFrom(projectId: ProjectId, id: MemoryId, upload: ReceivedFile): Promise<boolean> {
    const sha256 = fingerprintOfFile(upload).contentSha256;
    return (await this.session.get(MADE_FROM, { project: projectId, id, now: this.#now, sha256 })) !== null;
  }

  list(projectId: ProjectId, listing: MemoryListing): Promise<Page<Memory>> {
    return this.#lists.page(projectId, listing);
  }

  userKey(projectId: ProjectId, userId: string): Promise<UserKey | null> {
    return userKeyOf(this.session, projectId, userId);
  }

  async visible(
    projectId: ProjectId,
    page: { readonly afterKey: MemoryKey | null; readonly limit: number | null } = { afterKey: null, limit: null },
  ): Promise<readonly VisibleMemory[]> {
    // LIMIT NULL means no limit
    const params = { project: projectId, now: this.#now, afterKey: page.afterKey ?? 0n, limit: page.limit };
    return (await this.session.all<VisibleRow>(VISIBLE, params)).map(visibleOf);
  }

  async counts(): Promise<Readonly<Record<MemoryStatus, number>>> {
    const counts: Record<MemoryStatus, number> = { processing: 0, completed: 0, failed: 0 };
    const rows = await this.session.all<{ status: MemoryStatus; memories: bigint }>(COUNTS, { now: this.#now });
    for (const row of rows) counts[row.status] = Number(row.memories);
    return counts;
  }

  accept(projectId: ProjectId, drafts: readonly MemoryDraft[]): Promise<readonly (Accepted | Fault)[]> {
    return this.#intake.accept(projectId, drafts);
  }

  change(projectId: ProjectId, id: MemoryId, change: MemoryChange): Promise<Accepted | null> {
    return this.#changes.change(projectId, id, change);
  }

  retry(projectId: ProjectId, id: MemoryId): Promise<Memory | null> {
    return this.#changes.retry(projectId, id);
  }

  remove(projectId: ProjectId, id: MemoryId, options = { purges: false }): Promise<Memory | null> {
    return this.#deletion.remove(projectId, id, options);
  }

  removeMany(projectId: ProjectId, keys: readonly MemoryKey[]): Promise<readonly MemoryKey[]> {
    return this.#deletion.removeMany(projectId, keys);
  }

  removeAllOf(projectId: ProjectId, userId: string): Promise<readonly MemoryKey[]> {
    return this.#deletion.removeAllOf(projectId, userId);
  }

  async unreferencedFiles(files: readonly string[]): Promise<readonly string[]> {
    if (files.length === 0) return [];
    return (await this.session.all<{ name: string }>(UNREFERENCED, { names: files })).map(({ name }) => name);
  }

  get #now(): number {
    return this.context.clock.now();
  }
}
