// Changes existing memories: attributes, owner and content. Also puts failed memories back to `processing`.
// memory-intake.ts creates memories; job-store.ts has the jobs for new content.

import { createHash } from "node:crypto";
import { Fault, invariant } from "../../../domain/fault.ts";
import type { MemoryId, ProjectId } from "../../../domain/ids.ts";
import {
  EXTRACTED_FIELDS,
  type ExtractedField,
  type Memory,
  type MemoryChange,
  type ReceivedFile,
} from "../../../domain/memory.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { Accepted } from "../../../ports/memory-store.ts";
import type { SqliteDatabase } from "./database.ts";
import type { MemoryExpiry } from "./memory-expiry.ts";
import { type ContentFingerprint, fingerprintOfFile, keptFileOf, unreadSource } from "./memory-files.ts";
import type { MemoryOutbox } from "./memory-outbox.ts";
import {
  foldTitle,
  LIVE,
  MEMORY_COLUMNS,
  type MemoryRow,
  numberOrNull,
  OPEN_PROJECT,
  TO_WORK,
  toMemory,
} from "./memory-row.ts";
import type { ProjectQuotas } from "./project-quotas.ts";
import { ensureKnownUser, userKeyOf } from "./user-rows.ts";

const FIND = `SELECT ${MEMORY_COLUMNS}, memories.content_sha256, projects.id AS project_id
  FROM memories JOIN projects USING (project_key)`;
const FIND_BY_ID = `${FIND} WHERE memories.id = $id AND memories.project_key = ${OPEN_PROJECT} AND ${LIVE}`;
// also finds an expired memory that still has its externalId; holderOf checks expires_at
const FIND_BY_EXTERNAL_ID = `${FIND}
  WHERE memories.project_key = ${OPEN_PROJECT} AND ifnull(memories.user_key, 0) = $userOrNone
    AND memories.external_id = $externalId AND memories.external_id IS NOT NULL AND memories.deleted_at IS NULL`;

const REWORK = `UPDATE memories SET ${TO_WORK}, content_bytes = $contentBytes, content_sha256 = $contentSha256,
    source = $source
  WHERE memory_key = $key`;

const RETRY = `UPDATE memories SET ${TO_WORK}, updated_at = $now WHERE memory_key = $key RETURNING ${MEMORY_COLUMNS}`;

const UPDATE = `UPDATE memories SET user_key = $userKey, external_id = $externalId, title = $title,
    title_folded = $titleFolded, type = $type, tags = $tags, language = $language, metadata = $metadata, given = $given,
    expires_at = $expiresAt, occurred_at = $occurredAt, updated_at = $now
  WHERE memory_key = $key RETURNING ${MEMORY_COLUMNS}`;

const PUT_CONTENT = `INSERT INTO waiting_contents (memory_key, content) VALUES ($key, $content)
  ON CONFLICT (memory_key) DO UPDATE SET content = excluded.content`;

/** A row of an existing memory, with the additional columns that a change needs. */
export type KnownRow = MemoryRow & { readonly content_sha256: Uint8Array; readonly project_id: string };

/** Attributes that callers can give, in their stored form. */
export type AttributeColumns = {
  readonly title: string | null;
  readonly titleFolded: string | null;
  readonly type: string | null;
  readonly tags: string | null;
  readonly language: string | null;
  readonly metadata: string | null;
  readonly given: string;
  readonly expiresAt: number | null;
  readonly occurredAt: number | null;
};

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
    if (work !== null) {
      const { content, fingerprint, upload } = work;
      const source = upload === null ? null : unreadSource(upload);
      this.database
        .prepare<never, ContentFingerprint & { key: bigint; now: number; source: string | null }>(REWORK)
        .run({ key, now, source, ...fingerprint });
      putContent(this.database, key, content);
    }
    const row = this.database.prepare<MemoryRow, AttributeColumns & Owner & { key: bigint; now: number }>(UPDATE).get({
      key,
      now,
      userKey: this.#userKey(known, change.userId, now),
      externalId: valueAfter(change.externalId, known.external_id),
      ...attributesOf(change, known, work !== null),
    });
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
    const externalId = valueAfter(change.externalId, known.external_id);
    const userId = valueAfter(change.userId, known.user_id);
    if (externalId === null || (externalId === known.external_id && userId === known.user_id)) return null;
    if (this.holderOf(known.project_id as ProjectId, userId, externalId) === null) return null;
    const owner = userId === null ? "that belongs to no user" : "of this user";
    return new Fault("external_id_conflict", `Another memory ${owner} has this externalId: choose one that is free.`, {
      param: "externalId",
    });
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

/** Size and hash of a text. Cost: one SHA-256 over its UTF-8. */
export function fingerprintOf(content: string): ContentFingerprint {
  return {
    contentBytes: Buffer.byteLength(content, "utf8"),
    contentSha256: createHash("sha256").update(content, "utf8").digest(),
  };
}

/**
 * The attributes after a change. A value replaces the old one and counts as given by a caller; null clears it. A field
 * that the change lacks keeps its value in `known`. If the content is processed again (`isRework`), values that no
 * caller ever gave are cleared, so that they are extracted again.
 */
export function attributesOf(change: MemoryChange, known: MemoryRow | null, isRework: boolean): AttributeColumns {
  const givenBefore = known === null ? [] : (JSON.parse(known.given) as readonly ExtractedField[]);
  const stays = (field: ExtractedField) =>
    known === null || (isRework && !givenBefore.includes(field)) ? null : known[field];
  const isGiven = (field: ExtractedField) =>
    change[field] === undefined ? givenBefore.includes(field) : change[field] !== null;
  const timeBefore = (column: "expires_at" | "occurred_at") => numberOrNull(known?.[column] ?? null);
  const title = valueAfter(change.title, stays("title"));
  return {
    title,
    titleFolded: title === null ? null : foldTitle(title),
    type: valueAfter(change.type, stays("type")),
    tags: valueAfter(jsonOf(change.tags), stays("tags")),
    language: valueAfter(change.language, stays("language")),
    metadata: valueAfter(jsonOf(change.metadata), known?.metadata ?? null),
    given: JSON.stringify(EXTRACTED_FIELDS.filter(isGiven)),
    expiresAt: valueAfter(change.expiresAt, timeBefore("expires_at")),
    occurredAt: valueAfter(change.occurredAt, timeBefore("occurred_at")),
  };
}

type Owner = { readonly userKey: bigint | null; readonly externalId: string | null };

type NewWork = {
  readonly content: string;
  readonly fingerprint: ContentFingerprint;
  readonly upload: ReceivedFile | null;
};

// Returns the content to process; null if the change has none. Content that the memory already has is processed again
// only if the memory failed.
function newWork(known: KnownRow, change: Pick<MemoryChange, "content" | "upload">): NewWork | null {
  const { content, upload = null } = change;
  if (content === undefined) return null;
  const fingerprint = upload === null ? fingerprintOf(content) : fingerprintOfFile(upload);
  const isSame = Buffer.from(known.content_sha256).equals(fingerprint.contentSha256);
  return isSame && known.status !== "failed" ? null : { content, fingerprint, upload };
}

function valueAfter<T>(change: T | null | undefined, before: T | null): T | null {
  return change === undefined ? before : change;
}

function jsonOf(value: object | null | undefined): string | null | undefined {
  return value === null || value === undefined ? value : JSON.stringify(value);
}
