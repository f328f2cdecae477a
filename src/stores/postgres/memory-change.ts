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
import { SET_GIVEN } from "../rows/memory-columns.ts";
import { keptFileOf, unreadSource } from "../rows/memory-file.ts";
import { LIVE, MEMORY_COLUMNS, OPEN_PROJECT, TO_WORK } from "../rows/sql.ts";
import type { Session } from "../session.ts";
import { ensureKnownUser, userKeyOf } from "../user-rows.ts";
import type { MemoryExpiry } from "./memory-expiry.ts";
import { putTags, sourceColumns } from "./memory-sql.ts";
import type { PostgresOutbox } from "./outbox.ts";
import type { ProjectQuotas } from "./project-quotas.ts";

// A claim may change the row at the same time: it does not take the lock of the project. Locking the row lets both
// happen one after the other.
const FIND = `SELECT ${MEMORY_COLUMNS}, memories.content_sha256, projects.id AS project_id
  FROM memories JOIN projects USING (project_key)`;
const FIND_BY_ID = `${FIND} WHERE memories.id = $id AND memories.project_key = ${OPEN_PROJECT} AND ${LIVE}
  FOR NO KEY UPDATE OF memories`;
// also finds an expired memory that still has its externalId; holderOf checks expires_at
const FIND_BY_EXTERNAL_ID = `${FIND}
  WHERE memories.project_key = ${OPEN_PROJECT} AND coalesce(memories.user_key, 0) = $userOrNone
    AND memories.external_id = $externalId AND memories.external_id IS NOT NULL AND memories.deleted_at IS NULL
  FOR NO KEY UPDATE OF memories`;

const REWORK = `UPDATE memories SET ${TO_WORK}, content_bytes = $contentBytes, content_sha256 = $contentSha256,
    source = $source, file = $file, media_type = $mediaType
  WHERE memory_key = $key`;

const RETRY = `UPDATE memories SET ${TO_WORK}, updated_at = $now WHERE memory_key = $key RETURNING ${MEMORY_COLUMNS}`;

const UPDATE = `UPDATE memories SET ${SET_GIVEN}, updated_at = $now
  WHERE memory_key = $key RETURNING ${MEMORY_COLUMNS}`;

const PUT_CONTENT = `INSERT INTO waiting_contents (memory_key, content) VALUES ($key, $content)
  ON CONFLICT (memory_key) DO UPDATE SET content = excluded.content`;

/** Changes memories. */
export class MemoryChanges {
  constructor(
    private readonly session: Session,
    private readonly clock: Clock,
    private readonly expiry: MemoryExpiry,
    private readonly quotas: ProjectQuotas,
    private readonly outbox: PostgresOutbox,
  ) {}

  /** See MemoryStore.change. */
  async change(projectId: ProjectId, id: MemoryId, change: MemoryChange): Promise<Accepted | null> {
    const known = await this.#find(projectId, id);
    if (known === null) return null;
    const changed = await this.apply(known, change);
    if (changed instanceof Fault) throw changed;
    return changed;
  }

  /** See MemoryStore.retry. */
  async retry(projectId: ProjectId, id: MemoryId): Promise<Memory | null> {
    const known = await this.#find(projectId, id);
    if (known === null) return null;
    if (known.status !== "failed") {
      throw new Fault("invalid_state", `Only a failed memory can be tried again; this one is ${known.status}.`);
    }
    const row = await this.session.get<MemoryRow>(RETRY, { key: known.memory_key, now: this.clock.now() });
    invariant(row !== null, `memory ${known.id} disappeared within its own retry`);
    return toMemory(row);
  }

  /**
   * The live memory with this pair of user and externalId; null if there is none. If the memory with this pair has
   * expired, records its expiry, so that the pair can be used again.
   */
  async holderOf(projectId: ProjectId, userId: string | null, externalId: string): Promise<KnownRow | null> {
    const userKey = userId === null ? null : await userKeyOf(this.session, projectId, userId);
    if (userId !== null && userKey === null) return null; // nothing ever referred to this user
    const params = { project: projectId, userOrNone: userKey ?? 0n, externalId };
    const holder = await this.session.get<KnownRow>(FIND_BY_EXTERNAL_ID, params);
    if (holder === null || holder.expires_at === null || holder.expires_at > this.clock.now()) return holder;
    await this.expiry.recordOne(holder.memory_key);
    return null;
  }

  /**
   * Changes a row. Returns a Fault if the change is refused. In this case nothing was written, except that the expiry
   * of other memories may have been recorded.
   */
  async apply(known: KnownRow, change: MemoryChange): Promise<Accepted | Fault> {
    const work = newWork(known, change);
    const refusal = (await this.#conflict(known, change)) ?? (await this.#overQuota(known, work));
    if (refusal !== null) return refusal;

    const [key, now] = [known.memory_key, this.clock.now()];
    const userKey = await this.#userKey(known, change.userId, now);
    const after = columnsAfter(change, known, { userKey, isRework: work !== null });
    if (work === null && isUnchanged(known, after)) {
      return { memory: toMemory(known), outcome: "unchanged", releasedFile: null };
    }
    if (work !== null) {
      const { content, fingerprint, upload } = work;
      const source = sourceColumns(upload === null ? null : unreadSource(upload));
      await this.session.run(REWORK, { key, now, ...source, ...fingerprint });
      await putContent(this.session, key, content);
    }
    const row = await this.session.get<MemoryRow>(UPDATE, { key, now, ...after });
    invariant(row !== null, `memory ${known.id} disappeared within its own change`);
    await putTags(this.session, [{ row, before: known.tags }]);
    const memory = toMemory(row);
    if (work !== null) return { memory, outcome: "rewritten", releasedFile: keptFileOf(known) };
    await this.outbox.record(known.project_key, "memory.updated", [memory]);
    return { memory, outcome: "updated", releasedFile: null };
  }

  #find(projectId: ProjectId, id: MemoryId): Promise<KnownRow | null> {
    return this.session.get<KnownRow>(FIND_BY_ID, { project: projectId, id, now: this.clock.now() });
  }

  async #conflict(known: KnownRow, change: MemoryChange): Promise<Fault | null> {
    const pair = newPair(known, change);
    if (pair === null) return null;
    const holder = await this.holderOf(known.project_id as ProjectId, pair.userId, pair.externalId);
    return holder === null ? null : externalIdConflict(pair.userId);
  }

  async #overQuota(known: KnownRow, work: NewWork | null): Promise<Fault | null> {
    if (work === null) return null;
    const bytes = work.fingerprint.contentBytes - Number(known.content_bytes);
    return this.quotas.refusal(known.project_key, { documents: 0, bytes });
  }

  async #userKey(known: KnownRow, userId: string | null | undefined, now: number): Promise<bigint | null> {
    if (userId === undefined) return known.user_key;
    return userId === null ? null : ensureKnownUser(this.session, known.project_key, userId, now);
  }
}

/** Stores a content until it is processed, and replaces an earlier one. */
export async function putContent(session: Session, key: bigint, content: string): Promise<void> {
  await session.run(PUT_CONTENT, { key, content });
}
