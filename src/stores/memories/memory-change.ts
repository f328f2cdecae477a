// Changes existing memories: attributes, owner and content. Also puts failed memories back to `processing`.
// memory-intake.ts creates memories; job-store.ts has the jobs for new content.

import { Fault, invariant } from "../../domain/fault.ts";
import type { MemoryId, ProjectId } from "../../domain/ids.ts";
import type { Memory, MemoryChange } from "../../domain/memory.ts";
import type { Accepted } from "../../ports/memory-store.ts";
import type { StoreContext } from "../context.ts";
import type { Dialect } from "../dialect.ts";
import { EarlierRows } from "../history/earlier-rows.ts";
import { Outbox } from "../outbox.ts";
import { ProjectQuotas } from "../project-quotas.ts";
import { RelationRows } from "../relations/relation-rows.ts";
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
import {
  fileOf,
  keptFileOf,
  originalBytes,
  originalOf,
  replacedSource,
  setSource,
  sourceColumns,
} from "../rows/memory-file.ts";
import { LIVE, MEMORY_COLUMNS, OPEN_PROJECT, TO_WORK } from "../rows/sql.ts";
import type { Session } from "../session.ts";
import { USER_KEY, UserKeys, userKeyOf } from "../user-rows.ts";
import { MemoryExpiry } from "./memory-expiry.ts";

/** The columns of a `KnownRow` in the project `$project`. */
export const KNOWN_COLUMNS = `${MEMORY_COLUMNS}, memories.content_sha256, memories.original_bytes,
  memories.text_version, memories.text_since, memories.text_by, CAST($project AS text) AS project_id`;

// A claim may change the row at the same time: it does not take the lock of the project. Locking the row lets both
// happen one after the other.
const FIND = `SELECT ${KNOWN_COLUMNS} FROM memories WHERE memories.project_key = ${OPEN_PROJECT}`;
const FIND_BY_ID = ({ forUpdate }: Dialect) => `${FIND} AND memories.id = $id AND ${LIVE} ${forUpdate("memories")}`;
// Also finds an expired memory that still has its externalId; holderOf checks expires_at. With a join, SQLite would
// compile the statement again for each call, because its parameters decide whether the index can be used: 28 µs.
const FIND_BY_EXTERNAL_ID = ({ keyOrZero, forUpdate }: Dialect) => `${FIND}
  AND ${keyOrZero("memories.user_key")} = $userOrNone AND memories.external_id = $externalId
  AND memories.external_id IS NOT NULL AND memories.deleted_at IS NULL ${forUpdate("memories")}`;

const REWORK = (dialect: Dialect) => `UPDATE memories SET ${TO_WORK}, content_bytes = $contentBytes,
    content_sha256 = $contentSha256, ${setSource(dialect)}, original_file = $originalFile, original_bytes = 0
  WHERE memory_key = $key`;

const RETRY = `UPDATE memories SET ${TO_WORK}, updated_at = $now WHERE memory_key = $key RETURNING ${MEMORY_COLUMNS}`;

const OF_USER = `AND user_key = ${USER_KEY}`;
const RETRY_FAILED =
  (isOfUser: boolean) =>
  ({ indexedBy, forUpdate }: Dialect) =>
    `UPDATE memories
  SET ${TO_WORK}, updated_at = $now WHERE memory_key IN (SELECT memory_key FROM memories ${indexedBy("memories_by_status")}
    WHERE project_key = ${OPEN_PROJECT} AND status = 'failed' AND ${LIVE} ${isOfUser ? OF_USER : ""}
    ORDER BY memory_key LIMIT $rows ${forUpdate("memories")})`;
const RETRY_ALL_FAILED = RETRY_FAILED(false);
const RETRY_FAILED_OF_USER = RETRY_FAILED(true);

const UPDATE = `UPDATE memories SET ${SET_GIVEN}, updated_at = $now
  WHERE memory_key = $key RETURNING ${MEMORY_COLUMNS}`;

const KEEP_ORIGINAL = `UPDATE memories SET original_file = $originalFile, original_bytes = $bytes
  WHERE memory_key = $key RETURNING ${MEMORY_COLUMNS}`;

const PUT_CONTENT = `INSERT INTO waiting_contents (memory_key, content) VALUES ($key, $content)
  ON CONFLICT (memory_key) DO UPDATE SET content = excluded.content`;

/** Changes memories. */
export class MemoryChanges {
  readonly #expiry: MemoryExpiry;
  readonly #quotas: ProjectQuotas;
  readonly #outbox: Outbox;
  readonly #relations: RelationRows;
  readonly #earlier: EarlierRows;

  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
  ) {
    this.#expiry = new MemoryExpiry(session, context);
    this.#quotas = new ProjectQuotas(session, this.#expiry);
    this.#outbox = new Outbox(session, context);
    this.#relations = new RelationRows(session, context);
    this.#earlier = new EarlierRows(session);
  }

  /** See MemoryStore.change. */
  async change(projectId: ProjectId, id: MemoryId, change: MemoryChange): Promise<Accepted | null> {
    const known = await this.#find(projectId, id);
    if (known === null) return null;
    const changed = await this.apply(known, change, new UserKeys(this.session, known.project_key));
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
    const row = await this.session.get<MemoryRow>(RETRY, { key: known.memory_key, now: this.context.clock.now() });
    invariant(row !== null, `memory ${known.id} disappeared within its own retry`);
    return toMemory(row);
  }

  /** See MemoryStore.retryFailed. */
  retryFailed(
    projectId: ProjectId,
    { userId, limit }: { readonly userId?: string; readonly limit: number },
  ): Promise<number> {
    const values = { project: projectId, now: this.context.clock.now(), rows: limit };
    return userId === undefined
      ? this.session.run(RETRY_ALL_FAILED, values)
      : this.session.run(RETRY_FAILED_OF_USER, { ...values, userId });
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
    return holder === null ? null : this.unlessExpired(holder);
  }

  /** Returns a row, or null if its memory has expired. Then records its expiry, so that its pair can be used again. */
  async unlessExpired(row: KnownRow): Promise<KnownRow | null> {
    if (row.expires_at === null || row.expires_at > this.context.clock.now()) return row;
    await this.#expiry.recordOne(row.memory_key);
    return null;
  }

  /**
   * Changes a row. Returns a Fault if the change is refused. In this case nothing was written, except that the expiry
   * of other memories may have been recorded.
   * @param users those of the project
   */
  async apply(known: KnownRow, change: MemoryChange, users: UserKeys): Promise<Accepted | Fault> {
    const work = newWork(known, change);
    const refusal = await this.#refusal(known, change, work);
    if (refusal !== null) return refusal;

    const [key, now] = [known.memory_key, this.context.clock.now()];
    const { userId } = change;
    const newKey = userId == null ? null : await users.ensureKnown(userId, now);
    const userKey = userId === undefined ? known.user_key : newKey;
    const isOtherText = work !== null && !work.isSame;
    const text = isOtherText
      ? { text_version: known.text_version + 1n, text_since: BigInt(now), text_by: change.by ?? null }
      : known;
    const after = columnsAfter(change, known, { userKey, isRework: work !== null, text });
    if (work === null) {
      const kept = await this.#keepOriginal(known, originalOf(change.upload ?? null));
      if (isUnchanged(known, after)) return { memory: toMemory(kept), outcome: "unchanged", releasedFile: null };
    }
    if (work !== null) {
      const { content, fingerprint, upload } = work;
      if (isOtherText) await this.#earlier.keepText(known, now);
      const source = sourceColumns(upload === null ? null : replacedSource(upload, known));
      await this.session.run(REWORK, { key, now, ...source, ...fingerprint, originalFile: originalOf(upload) });
      await putContent(this.session, key, content);
    }
    const row = await this.session.get<MemoryRow>(UPDATE, { key, now, ...after });
    invariant(row !== null, `memory ${known.id} disappeared within its own change`);
    await this.context.engine.replaceTags(this.session, [{ row, before: known.tags }]);
    await this.#changeRelations(known, row, { isRework: work !== null, by: change.by ?? null });
    const memory = toMemory(row);
    if (work !== null) return { memory, outcome: "rewritten", releasedFile: fileOf(known) };
    await this.#outbox.record(known.project_key, "memory.updated", [memory]);
    return { memory, outcome: "updated", releasedFile: null };
  }

  /**
   * If a memory has no original and its file was sent again, keeps that file, as far as the plan of the project has
   * room for it. Returns the row after that.
   */
  async #keepOriginal(known: KnownRow, sent: string | null): Promise<MemoryRow> {
    if (sent === null || known.original_file !== null) return known;
    const originalFile = keptFileOf(known) ?? sent;
    const bytes = known.status === "completed" ? originalBytes({ ...known, original_file: originalFile }) : 0;
    if ((await this.#quotas.refusal(known.project_key, { documents: 0, bytes })) !== null) return known;
    const kept = await this.session.get<MemoryRow>(KEEP_ORIGINAL, { key: known.memory_key, originalFile, bytes });
    return kept ?? known;
  }

  /** Removes the relations that no longer hold, and looks for others. */
  async #changeRelations(
    before: MemoryRow,
    row: MemoryRow,
    { isRework, by }: { readonly isRework: boolean; readonly by: string | null },
  ): Promise<void> {
    const isMoved = row.user_key !== before.user_key || row.agent_id !== before.agent_id;
    if (isMoved) await this.#relations.removeAllOf([row]);
    else if (isRework || row.occurred_at !== before.occurred_at) {
      await this.#relations.removeFoundOf([row.memory_key], by);
    } else return;
    if (row.status === "completed") await this.#relations.addJobs([row.memory_key], false);
  }

  #find(projectId: ProjectId, id: MemoryId): Promise<KnownRow | null> {
    return this.session.get<KnownRow>(FIND_BY_ID, { project: projectId, id, now: this.context.clock.now() });
  }

  async #refusal(known: KnownRow, change: MemoryChange, work: NewWork | null): Promise<Fault | null> {
    const pair = newPair(known, change);
    if (pair !== null) {
      const holder = await this.holderOf(known.project_id as ProjectId, pair.userId, pair.externalId);
      if (holder !== null) return externalIdConflict(pair.userId);
    }
    if (work === null) return null;
    const bytes = work.fingerprint.contentBytes - Number(known.content_bytes + known.original_bytes);
    return this.#quotas.refusal(known.project_key, { documents: 0, bytes });
  }
}

/** Stores a content until it is processed, and replaces an earlier one. */
export async function putContent(session: Session, key: bigint, content: string): Promise<void> {
  await session.run(PUT_CONTENT, { key, content });
}
