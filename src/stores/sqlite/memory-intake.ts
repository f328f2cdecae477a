// Stores drafts: creates memories, or updates the memory with the same `externalId` (memory-change.ts). The jobs for
// their contents are in job-store.ts.

import { Fault, invariant } from "../../domain/fault.ts";
import type { ProjectId } from "../../domain/ids.ts";
import type { MemoryDraft } from "../../domain/memory.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Accepted } from "../../ports/memory-store.ts";
import { type MemoryRow, toMemory } from "../rows/memory.ts";
import { columnsAfter, fingerprintOf } from "../rows/memory-change.ts";
import { GIVEN_NAMES, GIVEN_PARAMETERS, type GivenColumns } from "../rows/memory-columns.ts";
import { type ContentFingerprint, fingerprintOfFile, unreadSource } from "../rows/memory-file.ts";
import { newId, type RandomBytes } from "../rows/random.ts";
import { MEMORY_COLUMNS, OPEN_PROJECT } from "../rows/sql.ts";
import type { SqliteDatabase } from "./database.ts";
import { type MemoryChanges, putContent } from "./memory-change.ts";
import type { ProjectQuotas } from "./project-quotas.ts";
import { ensureKnownUser } from "./user-rows.ts";

const FIND_PROJECT = `SELECT ${OPEN_PROJECT} AS project_key`;

const INSERT = `INSERT INTO memories (id, project_key, version, status, content_bytes, content_sha256, source, created_at,
    updated_at, claimable_at, ${GIVEN_NAMES})
  VALUES ($id, $projectKey, 1, 'processing', $contentBytes, $contentSha256, $source, $now, $now, $now,
    ${GIVEN_PARAMETERS})
  RETURNING ${MEMORY_COLUMNS}`;

/** Stores drafts. */
export class MemoryIntake {
  constructor(
    private readonly database: SqliteDatabase,
    private readonly clock: Clock,
    private readonly random: RandomBytes,
    private readonly changes: MemoryChanges,
    private readonly quotas: ProjectQuotas,
  ) {}

  /**
   * Stores all drafts in one transaction, in their order, so that a draft can update an earlier one.
   * @throws Fault `project_not_found` if the project does not exist; StoreError if the file cannot be written
   */
  accept(projectId: ProjectId, drafts: readonly MemoryDraft[]): readonly (Accepted | Fault)[] {
    return this.database.transaction(() => {
      const project = this.database
        .prepare<{ project_key: bigint | null }, { project: string }>(FIND_PROJECT)
        .get({ project: projectId });
      const projectKey = project?.project_key ?? null;
      if (projectKey === null) throw new Fault("project_not_found", `There is no project '${projectId}' any more.`);
      return drafts.map((draft) => this.#acceptOne(projectId, projectKey, draft));
    });
  }

  #acceptOne(projectId: ProjectId, projectKey: bigint, draft: MemoryDraft): Accepted | Fault {
    const { externalId, userId = null } = draft;
    const known = externalId === undefined ? null : this.changes.holderOf(projectId, userId, externalId);
    return known === null ? this.#create(projectKey, draft) : this.changes.apply(known, draft);
  }

  #create(projectKey: bigint, draft: MemoryDraft): Accepted | Fault {
    const fingerprint = draft.upload === undefined ? fingerprintOf(draft.content) : fingerprintOfFile(draft.upload);
    const refusal = this.quotas.refusal(projectKey, { documents: 1, bytes: fingerprint.contentBytes });
    if (refusal !== null) return refusal;
    const now = this.clock.now();
    const id = newId("mem", now, this.random);
    const { userId } = draft;
    const userKey = userId === undefined ? null : ensureKnownUser(this.database, projectKey, userId, now);
    const row = this.database.prepare<MemoryRow, GivenColumns & Identity & ContentFingerprint>(INSERT).get({
      id,
      source: draft.upload === undefined ? null : unreadSource(draft.upload),
      projectKey,
      ...columnsAfter(draft, null, { userKey, isRework: false }),
      ...fingerprint,
      now,
    });
    invariant(row !== null, "an inserted memory returned no row");
    putContent(this.database, row.memory_key, draft.content);
    return { memory: toMemory(row), outcome: "created", releasedFile: null };
  }
}

type Identity = {
  readonly id: string;
  readonly projectKey: bigint;
  readonly source: string | null;
  readonly now: number;
};
