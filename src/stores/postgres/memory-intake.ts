// Stores drafts: creates memories, or updates the memory with the same `externalId` (memory-change.ts). The jobs for
// their contents are in job-store.ts.

import { Fault, invariant } from "../../domain/fault.ts";
import type { ProjectId } from "../../domain/ids.ts";
import type { MemoryDraft } from "../../domain/memory.ts";
import type { Accepted } from "../../ports/memory-store.ts";
import type { StoreContext } from "../context.ts";
import { type MemoryRow, toMemory } from "../rows/memory.ts";
import { columnsAfter, fingerprintOf } from "../rows/memory-change.ts";
import { GIVEN_COLUMNS, GIVEN_NAMES } from "../rows/memory-columns.ts";
import { type ContentFingerprint, fingerprintOfFile, unreadSource } from "../rows/memory-file.ts";
import type { UsedRow } from "../rows/project.ts";
import { newId } from "../rows/random.ts";
import { MEMORY_COLUMNS } from "../rows/sql.ts";
import type { Bindings, Session } from "../session.ts";
import { ensureKnownUser } from "../user-rows.ts";
import { type MemoryChanges, putContent } from "./memory-change.ts";
import { putTags, sourceColumns } from "./memory-sql.ts";
import type { ProjectQuotas } from "./project-quotas.ts";

const FIND_PROJECT = `SELECT project_key, plan, documents, storage_bytes FROM projects
  WHERE id = $project AND deleted_at IS NULL`;

// The keys grow in the order of the arrays. A long content is stored by a statement of its own.
const INSERT = `WITH given AS (
    SELECT * FROM unnest($ids::text[], $contentBytes::bigint[], $hashes::text[], $sources::text[], $files::text[],
      $mediaTypes::text[], $contents::text[], ${GIVEN_COLUMNS.map(({ name, type }) => `$${name}::${type}[]`).join(", ")})
      WITH ORDINALITY
      AS draft (id, content_bytes, hash, source, file, media_type, content, ${GIVEN_NAMES}, position)
  ), made AS (
    INSERT INTO memories (id, project_key, version, status, content_bytes, content_sha256, source, file, media_type,
      created_at, updated_at, claimable_at, ${GIVEN_NAMES})
    SELECT id, $projectKey, 1, 'processing', content_bytes, decode(hash, 'hex'), source, file, media_type, $now, $now,
      $now, ${GIVEN_NAMES}
    FROM given ORDER BY position
    RETURNING ${MEMORY_COLUMNS}
  ), waiting AS (
    INSERT INTO waiting_contents (memory_key, content)
    SELECT memory_key, content FROM made JOIN given USING (id) WHERE content IS NOT NULL
  )
  SELECT made.* FROM made`;

// positions of the drafts whose pair of user and externalId belongs to a memory, even to an expired one
const TAKEN = `SELECT given.position FROM unnest($userIds::text[], $externalIds::text[]) WITH ORDINALITY
    AS given (user_id, external_id, position)
  LEFT JOIN users ON users.project_key = $projectKey AND users.id = given.user_id
  JOIN memories ON memories.project_key = $projectKey AND memories.external_id = given.external_id
    AND memories.external_id IS NOT NULL AND coalesce(memories.user_key, 0) = coalesce(users.user_key, 0)
    AND memories.deleted_at IS NULL
  WHERE given.user_id IS NULL OR users.user_key IS NOT NULL`;

/** Maximum size of the contents of one statement, and of a content among others, in UTF-16 code units. */
const STATEMENT_CHARACTERS_MAX = 1024 * 1024;
const SHORT_CHARACTERS_MAX = 64 * 1024;

/** A draft to insert, and its position among the drafts. */
interface Insertion {
  readonly position: number;
  readonly draft: MemoryDraft;
  readonly fingerprint: ContentFingerprint;
  readonly userKey: bigint | null;
}

/** Stores drafts. */
export class MemoryIntake {
  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
    private readonly changes: MemoryChanges,
    private readonly quotas: ProjectQuotas,
  ) {}

  /**
   * Stores all drafts in their order, so that a draft can update an earlier one.
   * @throws Fault `project_not_found` if the project does not exist
   */
  async accept(projectId: ProjectId, drafts: readonly MemoryDraft[]): Promise<readonly (Accepted | Fault)[]> {
    const params = { project: projectId };
    const project = await this.session.get<UsedRow & { readonly project_key: bigint }>(FIND_PROJECT, params);
    if (project === null) throw new Fault("project_not_found", `There is no project '${projectId}' any more.`);
    const projectKey = project.project_key;
    const taken = await this.#taken(projectKey, drafts);
    const results = new Map<number, Accepted | Fault>();
    const batch = new Insertions(this.session, this.context, projectKey, results);
    const room = this.quotas.room(projectKey, project);
    for (const [position, draft] of drafts.entries()) {
      const known = taken.has(pairOf(draft)) ? await this.#holderOf(projectId, draft, batch) : null;
      if (known !== null) {
        results.set(position, await this.changes.apply(known, draft));
        room.readAgain();
        continue;
      }
      const fingerprint = draft.upload === undefined ? fingerprintOf(draft.content) : fingerprintOfFile(draft.upload);
      const growth = { documents: 1, bytes: fingerprint.contentBytes };
      let refusal = await room.refusal(growth);
      if (refusal !== null) {
        await batch.flush();
        refusal = await this.quotas.refusal(projectKey, growth);
        room.readAgain();
      }
      if (refusal === null) {
        room.take(growth);
        await batch.add(position, draft, fingerprint);
        if (draft.externalId !== undefined) taken.add(pairOf(draft));
      } else results.set(position, refusal);
    }
    await batch.flush();
    return drafts.map((_, position) => {
      const result = results.get(position);
      invariant(result !== undefined, "a draft has no outcome");
      return result;
    });
  }

  /** The memory that a draft updates. */
  async #holderOf(projectId: ProjectId, draft: MemoryDraft, batch: Insertions) {
    const { externalId, userId = null } = draft;
    await batch.flush(); // it may be the memory of an earlier draft
    return externalId === undefined ? null : this.changes.holderOf(projectId, userId, externalId);
  }

  /** Names (`pairOf`) of the pairs of user and externalId that belong to memories already. */
  async #taken(projectKey: bigint, drafts: readonly MemoryDraft[]): Promise<Set<string>> {
    const named = drafts.filter(({ externalId }) => externalId !== undefined);
    if (named.length === 0) return new Set();
    const rows = await this.session.all<{ readonly position: bigint }>(TAKEN, {
      projectKey,
      userIds: named.map(({ userId = null }) => userId),
      externalIds: named.map(({ externalId }) => externalId ?? null),
    });
    return new Set(
      rows.flatMap(({ position }) => {
        const draft = named[Number(position) - 1];
        return draft === undefined ? [] : pairOf(draft);
      }),
    );
  }
}

/** Drafts that become new memories, and are inserted by few statements. */
class Insertions {
  #waiting: Insertion[] = [];
  #characters = 0;
  readonly #userKeys = new Map<string, bigint>();

  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
    private readonly projectKey: bigint,
    private readonly results: Map<number, Accepted | Fault>,
  ) {}

  async add(position: number, draft: MemoryDraft, fingerprint: ContentFingerprint): Promise<void> {
    const userKey = draft.userId === undefined ? null : await this.#userKey(draft.userId);
    this.#waiting.push({ position, draft, fingerprint, userKey });
    this.#characters += draft.content.length;
    if (this.#characters > STATEMENT_CHARACTERS_MAX) await this.flush();
  }

  /** Inserts the drafts that wait. */
  async flush(): Promise<void> {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    [this.#waiting, this.#characters] = [[], 0];
    const now = this.context.clock.now();
    const ids = waiting.map(() => newId("mem", now, this.context.random));
    const rows = await this.session.all<MemoryRow>(INSERT, {
      ...valuesOf(waiting),
      ids,
      now,
      projectKey: this.projectKey,
    });
    const made = new Map(rows.map((row) => [row.id, row]));
    const inOrder = waiting.map(({ position, draft }, at) => {
      const row = made.get(ids[at] ?? "");
      invariant(row !== undefined, "an inserted memory returned no row");
      return { position, draft, row };
    });
    await putTags(
      this.session,
      inOrder.map(({ row }) => ({ row, before: null })),
    );
    for (const { position, draft, row } of inOrder) {
      if (!isShort(draft)) await putContent(this.session, row.memory_key, draft.content);
      this.results.set(position, { memory: toMemory(row), outcome: "created", releasedFile: null });
    }
  }

  async #userKey(userId: string): Promise<bigint> {
    const known = this.#userKeys.get(userId);
    if (known !== undefined) return known;
    const made = await ensureKnownUser(this.session, this.projectKey, userId, this.context.clock.now());
    this.#userKeys.set(userId, made);
    return made;
  }
}

function isShort({ content }: MemoryDraft): boolean {
  return content.length <= SHORT_CHARACTERS_MAX;
}

/** Names a pair of user and externalId; empty for a draft without an externalId. */
function pairOf(draft: MemoryDraft): string {
  const { userId = null, externalId } = draft;
  return externalId === undefined ? "" : JSON.stringify([userId, externalId]);
}

function valuesOf(insertions: readonly Insertion[]): Bindings {
  const rows = insertions.map(({ draft, userKey }) => columnsAfter(draft, null, { userKey, isRework: false }));
  const sources = insertions.map(({ draft: { upload } }) =>
    sourceColumns(upload === undefined ? null : unreadSource(upload)),
  );
  return {
    ...Object.fromEntries(GIVEN_COLUMNS.map(({ name }) => [name, rows.map((row) => row[name])])),
    contentBytes: insertions.map(({ fingerprint }) => BigInt(fingerprint.contentBytes)),
    hashes: insertions.map(({ fingerprint }) => Buffer.from(fingerprint.contentSha256).toString("hex")),
    sources: sources.map(({ source }) => source),
    files: sources.map(({ file }) => file),
    mediaTypes: sources.map(({ mediaType }) => mediaType),
    contents: insertions.map(({ draft }) => (isShort(draft) ? draft.content : null)),
  };
}
