// How drafts become rows: new memories, and updates of those that an `externalId` names. What happens to the jobs that
// follow is memory-jobs.ts.

import { createHash } from "node:crypto";
import { invariant } from "../../../domain/fault.ts";
import { type ProjectId, timeOrderedId } from "../../../domain/ids.ts";
import { EXTRACTED_FIELDS, type ExtractedField, type MemoryDraft } from "../../../domain/memory.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { Accepted } from "../../../ports/memory-store.ts";
import type { SqliteDatabase } from "./database.ts";
import { MEMORY_COLUMNS, type MemoryRow, toMemory } from "./memory-row.ts";
import type { RandomBytes } from "./random.ts";

const ID_RANDOM_BYTES = 10;

const NAME_USER = `INSERT INTO users (project_key, id, created_at) VALUES ($projectKey, $userId, $now)
  ON CONFLICT (project_key, id) DO NOTHING`;

// an expired memory may still hold its externalId here; accept tells it apart by expires_at
const FIND_BY_EXTERNAL_ID = `SELECT ${MEMORY_COLUMNS}, memories.content_sha256 FROM memories
  WHERE project_key = $projectKey AND ifnull(user_key, 0) = $userOrNone AND external_id = $externalId
    AND external_id IS NOT NULL AND deleted_at IS NULL`;

const INSERT = `INSERT INTO memories (id, project_key, user_key, external_id, version, status, title, type, tags,
    language, metadata, given, content_bytes, content_sha256, created_at, updated_at, expires_at, claimable_at)
  VALUES ($id, $projectKey, $userKey, $externalId, 1, 'processing', $title, $type, $tags,
    $language, $metadata, $given, $contentBytes, $contentSha256, $now, $now, $expiresAt, $now)
  RETURNING ${MEMORY_COLUMNS}`;

const UPDATE_ATTRIBUTES = `UPDATE memories SET title = $title, type = $type, tags = $tags, language = $language,
    metadata = $metadata, given = $given, expires_at = $expiresAt, updated_at = $now
  WHERE memory_key = $key RETURNING ${MEMORY_COLUMNS}`;

const REWORK = `UPDATE memories SET version = version + 1, status = 'processing', content_bytes = $contentBytes,
    content_sha256 = $contentSha256, chunk_count = 0, error_code = NULL, error_message = NULL, attempts = 0,
    lease = NULL, claimable_at = $now
  WHERE memory_key = $key`;

const PUT_CONTENT = `INSERT INTO waiting_contents (memory_key, content) VALUES ($key, $content)
  ON CONFLICT (memory_key) DO UPDATE SET content = excluded.content`;

type KnownRow = MemoryRow & { readonly content_sha256: Uint8Array };

/** The columns that hold what callers can give, as they are stored. */
type AttributeColumns = {
  readonly title: string | null;
  readonly type: string | null;
  readonly tags: string | null;
  readonly language: string | null;
  readonly metadata: string | null;
  readonly given: string;
  readonly expiresAt: number | null;
};

/** Takes drafts in. */
export class MemoryIntake {
  constructor(
    private readonly database: SqliteDatabase,
    private readonly clock: Clock,
    private readonly random: RandomBytes,
  ) {}

  /**
   * Stores all drafts in one transaction, in their order, so that a draft can update one before it.
   * @throws Error when there is no such project, StoreError when the file cannot be written
   */
  accept(projectId: ProjectId, drafts: readonly MemoryDraft[]): readonly Accepted[] {
    return this.database.transaction(() => {
      const project = this.database
        .prepare<{ project_key: bigint }, { id: string }>("SELECT project_key FROM projects WHERE id = $id")
        .get({ id: projectId });
      invariant(project !== null, `memories were accepted for the unknown project ${projectId}`);
      const now = this.clock.now();
      return drafts.map((draft) => this.#acceptOne(project.project_key, draft, now));
    });
  }

  #acceptOne(projectKey: bigint, draft: MemoryDraft, now: number): Accepted {
    const userKey = draft.userId === undefined ? null : this.#nameUser(projectKey, draft.userId, now);
    const known = draft.externalId === undefined ? null : this.#find(projectKey, userKey, draft.externalId);
    if (known === null) return this.#create(projectKey, userKey, draft, now);
    if (known.expires_at !== null && known.expires_at <= now) {
      this.database
        .prepare<never, { key: bigint }>("UPDATE memories SET deleted_at = expires_at WHERE memory_key = $key")
        .run({ key: known.memory_key });
      return this.#create(projectKey, userKey, draft, now);
    }
    return this.#update(known, draft, now);
  }

  #create(projectKey: bigint, userKey: bigint | null, draft: MemoryDraft, now: number): Accepted {
    const row = this.database.prepare<MemoryRow, AttributeColumns & Identity & ContentMarks>(INSERT).get({
      id: `mem_${timeOrderedId(now, this.random(ID_RANDOM_BYTES))}`,
      projectKey,
      userKey,
      externalId: draft.externalId ?? null,
      ...attributesOf(draft, null, false),
      ...marksOf(draft.content),
      now,
    });
    invariant(row !== null, "an inserted memory gave no row back");
    this.#putContent(row.memory_key, draft.content);
    return { memory: toMemory(row), outcome: "created" };
  }

  #update(known: KnownRow, draft: MemoryDraft, now: number): Accepted {
    const marks = marksOf(draft.content);
    const isRework = known.status === "failed" || !Buffer.from(known.content_sha256).equals(marks.contentSha256);
    const key = known.memory_key;
    if (isRework) {
      this.database.prepare<never, ContentMarks & { key: bigint; now: number }>(REWORK).run({ key, now, ...marks });
      this.#putContent(key, draft.content);
    }
    const row = this.database
      .prepare<MemoryRow, AttributeColumns & { key: bigint; now: number }>(UPDATE_ATTRIBUTES)
      .get({ key, now, ...attributesOf(draft, known, isRework) });
    invariant(row !== null, `memory ${known.id} was gone within its own update`);
    return { memory: toMemory(row), outcome: isRework ? "rewritten" : "updated" };
  }

  #nameUser(projectKey: bigint, userId: string, now: number): bigint {
    this.database
      .prepare<never, { projectKey: bigint; userId: string; now: number }>(NAME_USER)
      .run({ projectKey, userId, now });
    const user = this.database
      .prepare<{ user_key: bigint }, { projectKey: bigint; userId: string }>(
        "SELECT user_key FROM users WHERE project_key = $projectKey AND id = $userId",
      )
      .get({ projectKey, userId });
    invariant(user !== null, "a user that was just named is unknown");
    return user.user_key;
  }

  #find(projectKey: bigint, userKey: bigint | null, externalId: string): KnownRow | null {
    return this.database
      .prepare<KnownRow, { projectKey: bigint; userOrNone: bigint; externalId: string }>(FIND_BY_EXTERNAL_ID)
      .get({ projectKey, userOrNone: userKey ?? 0n, externalId });
  }

  #putContent(key: bigint, content: string): void {
    this.database.prepare<never, { key: bigint; content: string }>(PUT_CONTENT).run({ key, content });
  }
}

type Identity = {
  readonly id: string;
  readonly projectKey: bigint;
  readonly userKey: bigint | null;
  readonly externalId: string | null;
  readonly now: number;
};

type ContentMarks = { readonly contentBytes: number; readonly contentSha256: Uint8Array };

function marksOf(content: string): ContentMarks {
  return {
    contentBytes: Buffer.byteLength(content, "utf8"),
    contentSha256: createHash("sha256").update(content, "utf8").digest(),
  };
}

/**
 * The attributes after `draft` came in: what it gives replaces, what it leaves out stays as `known` has it. With
 * `isRework` the values that no caller ever gave are cleared, so that they are extracted afresh.
 */
function attributesOf(draft: MemoryDraft, known: MemoryRow | null, isRework: boolean): AttributeColumns {
  const givenBefore = known === null ? [] : (JSON.parse(known.given) as readonly ExtractedField[]);
  const stays = (field: ExtractedField) =>
    known === null || (isRework && !givenBefore.includes(field)) ? null : known[field];
  const expiresBefore = known === null || known.expires_at === null ? null : Number(known.expires_at);
  return {
    title: draft.title ?? stays("title"),
    type: draft.type ?? stays("type"),
    tags: draft.tags === undefined ? stays("tags") : JSON.stringify(draft.tags),
    language: draft.language ?? stays("language"),
    metadata: draft.metadata === undefined ? (known?.metadata ?? null) : JSON.stringify(draft.metadata),
    given: JSON.stringify(
      EXTRACTED_FIELDS.filter((field) => draft[field] !== undefined || givenBefore.includes(field)),
    ),
    expiresAt: draft.expiresAt ?? expiresBefore,
  };
}
