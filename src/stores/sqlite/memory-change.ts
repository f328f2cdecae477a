// Changes existing memories: attributes, owner and content. Also puts failed memories back to `processing`.
// memory-intake.ts creates memories; job-store.ts has the jobs for new content.

import { Fault, invariant } from "../../domain/fault.ts";
import type { MemoryId, ProjectId } from "../../domain/ids.ts";
import type { Memory, MemoryChange } from "../../domain/memory.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Accepted } from "../../ports/memory-store.ts";
import { type MemoryRow, toMemory } from "../rows/memory.ts";
import {
  columnsAfter,
  externalIdConflict,
  isUnchanged,
  type KnownRow,
  type NewWork,
  newPair,
  newWork,
} from "../rows/memory-change.ts";
import { type GivenColumns, SET_GIVEN } from "../rows/memory-columns.ts";
import { type ContentFingerprint, keptFileOf, unreadSource } from "../rows/memory-file.ts";
import { LIVE, MEMORY_COLUMNS, OPEN_PROJECT, TO_WORK } from "../rows/sql.ts";
import type { SqliteDatabase } from "./database.ts";
import type { MemoryExpiry } from "./memory-expiry.ts";
import type { MemoryOutbox } from "./memory-outbox.ts";
import type { ProjectQuotas } from "./project-quotas.ts";
import { ensureKnownUser, userKeyOf } from "./user-rows.ts";

const FIND = `SELECT ${MEMORY_COLUMNS}, memories.content_sha256, projects.id AS project_id
  FROM memories JOIN projects USING (project_key)`;
const FIND_BY_ID = `${FIND} WHERE memories.id = $id AND memories.project_key = ${OPEN_PROJECT} AND ${LIVE}`;
// Also finds an expired memory that still has its externalId; holderOf checks expires_at. With a join, SQLite would
// compile the statement again for each call, because its parameters decide whether the index can be used: 28 µs.
const FIND_BY_EXTERNAL_ID = `SELECT ${MEMORY_COLUMNS}, memories.content_sha256, $project AS project_id FROM memories
  WHERE memories.project_key = ${OPEN_PROJECT} AND ifnull(memories.user_key, 0) = $userOrNone
    AND memories.external_id = $externalId AND memories.external_id IS NOT NULL AND memories.deleted_at IS NULL`;

const REWORK = `UPDATE memories SET ${TO_WORK}, content_bytes = $contentBytes, content_sha256 = $contentSha256,
    source = $source
  WHERE memory_key = $key`;

const RETRY = `UPDATE memories SET ${TO_WORK}, updated_at = $now WHERE memory_key = $key RETURNING ${MEMORY_COLUMNS}`;

const UPDATE = `UPDATE memories SET ${SET_GIVEN}, updated_at = $now
  WHERE memory_key = $key RETURNING ${MEMORY_COLUMNS}`;

const PUT_CONTENT = `INSERT INTO waiting_contents (memory_key, content) VALUES ($key, $content)
  ON CONFLICT (memory_key) DO UPDATE SET content = excluded.content`;

/** Changes memories. */
export class MemoryChanges {
  constructor(
    private readonly database: SqliteDatabase,
    private readonly clock: Clock,
    private readonly expiry: MemoryExpiry,
    private readonly quotas: ProjectQuotas,
    private readonly outbox: MemoryOutbox,
  ) {}

  /** See MemoryStore.change. */
  change(projectId: ProjectId, id: MemoryId, change: MemoryChange): Accepted | null {
    return this.database.transaction(() => {
      const known = this.#find(projectId, id);
      if (known === null) return null;
      const changed = this.apply(known, change);
      if (changed instanceof Fault) throw changed;
      return changed;
    });
  }

  /** See MemoryStore.retry. */
  retry(projectId: ProjectId, id: MemoryId): Memory | null {
    return this.database.transaction(() => {
      const known = this.#find(projectId, id);
      if (known === null) return null;
      if (known.status !== "failed") {
        throw new Fault("invalid_state", `Only a failed memory can be tried again; this one is ${known.status}.`);
      }
      const row = this.database
        .prepare<MemoryRow, { key: bigint; now: number }>(RETRY)
        .get({ key: known.memory_key, now: this.clock.now() });
      invariant(row !== null, `memory ${known.id} disappeared within its own retry`);
      return toMemory(row);
    });
  }

  /**
   * The live memory with this pair of user and externalId; null if there is none. If the memory with this pair has
   * expired, records its expiry, so that the pair can be used again.
   */
  holderOf(projectId: ProjectId, userId: string | null, externalId: string): KnownRow | null {
    const userKey = userId === null ? null : userKeyOf(this.database, projectId, userId);
    if (userId !== null && userKey === null) return null; // nothing ever referred to this user
    const holder = this.database
      .prepare<KnownRow, { project: string; userOrNone: bigint; externalId: string }>(FIND_BY_EXTERNAL_ID)
      .get({ project: projectId, userOrNone: userKey ?? 0n, externalId });
    if (holder === null || holder.expires_at === null || holder.expires_at > this.clock.now()) return holder;
    this.expiry.recordOne(holder.memory_key);
    return null;
  }

  /**
   * Changes a row. Returns a Fault if the change is refused. In this case nothing was written, except that the expiry
   * of other memories may have been recorded.
   */
  apply(known: KnownRow, change: MemoryChange): Accepted | Fault {
    const work = newWork(known, change);
    const refusal = this.#conflict(known, change) ?? this.#overQuota(known, work);
    if (refusal !== null) return refusal;

    const [key, now] = [known.memory_key, this.clock.now()];
    const userKey = this.#userKey(known, change.userId, now);
    const after = columnsAfter(change, known, { userKey, isRework: work !== null });
    if (work === null && isUnchanged(known, after)) {
      return { memory: toMemory(known), outcome: "unchanged", releasedFile: null };
    }
    if (work !== null) {
      const { content, fingerprint, upload } = work;
      const source = upload === null ? null : unreadSource(upload);
      this.database
        .prepare<never, ContentFingerprint & { key: bigint; now: number; source: string | null }>(REWORK)
        .run({ key, now, source, ...fingerprint });
      putContent(this.database, key, content);
    }
    const row = this.database
      .prepare<MemoryRow, GivenColumns & { key: bigint; now: number }>(UPDATE)
      .get({ key, now, ...after });
    invariant(row !== null, `memory ${known.id} disappeared within its own change`);
    const memory = toMemory(row);
    if (work === null) this.outbox.record(known.project_key, "memory.updated", memory);
    if (work === null) return { memory, outcome: "updated", releasedFile: null };
    return { memory, outcome: "rewritten", releasedFile: keptFileOf(known) };
  }

  #find(projectId: ProjectId, id: MemoryId): KnownRow | null {
    return this.database
      .prepare<KnownRow, { project: string; id: string; now: number }>(FIND_BY_ID)
      .get({ project: projectId, id, now: this.clock.now() });
  }

  #conflict(known: KnownRow, change: MemoryChange): Fault | null {
    const pair = newPair(known, change);
    if (pair === null) return null;
    const holder = this.holderOf(known.project_id as ProjectId, pair.userId, pair.externalId);
    return holder === null ? null : externalIdConflict(pair.userId);
  }

  #overQuota(known: KnownRow, work: NewWork | null): Fault | null {
    if (work === null) return null;
    const bytes = work.fingerprint.contentBytes - Number(known.content_bytes);
    return this.quotas.refusal(known.project_key, { documents: 0, bytes });
  }

  #userKey(known: KnownRow, userId: string | null | undefined, now: number): bigint | null {
    if (userId === undefined) return known.user_key;
    return userId === null ? null : ensureKnownUser(this.database, known.project_key, userId, now);
  }
}

/** Stores a content until it is processed, and replaces an earlier one. */
export function putContent(database: SqliteDatabase, key: bigint, content: string): void {
  database.prepare<never, { key: bigint; content: string }>(PUT_CONTENT).run({ key, content });
}
