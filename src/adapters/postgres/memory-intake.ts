// Stores drafts: creates memories, or updates the memory with the same `externalId` (memory-change.ts). The jobs for
// their contents are in job-store.ts.

import { Fault, invariant } from "../../domain/fault.ts";
import type { ProjectId } from "../../domain/ids.ts";
import type { MemoryDraft } from "../../domain/memory.ts";
import type { Accepted } from "../../ports/memory-store.ts";
import { type MemoryRow, toMemory } from "../rows/memory.ts";
import { attributesOf, fingerprintOf } from "../rows/memory-change.ts";
import { fingerprintOfFile, unreadSource } from "../rows/memory-file.ts";
import { newId } from "../rows/random.ts";
import { MEMORY_COLUMNS, OPEN_PROJECT } from "../rows/sql.ts";
import { type MemoryChanges, putContent } from "./memory-change.ts";
import { putTags, sourceColumns } from "./memory-sql.ts";
import type { ProjectQuotas } from "./project-quotas.ts";
import type { Session } from "./session.ts";
import type { StoreContext } from "./store-context.ts";
import { ensureKnownUser } from "./user-rows.ts";

const FIND_PROJECT = `SELECT ${OPEN_PROJECT} AS project_key`;

const INSERT = `INSERT INTO memories (id, project_key, user_key, external_id, version, status, title, title_folded, type,
    tags, language, metadata, given, content_bytes, content_sha256, source, file, media_type, created_at, updated_at,
    expires_at, occurred_at, agent_id, session_id, claimable_at)
  VALUES ($id, $projectKey, $userKey, $externalId, 1, 'processing', $title, $titleFolded, $type,
    $tags, $language, $metadata, $given, $contentBytes, $contentSha256, $source, $file, $mediaType, $now, $now,
    $expiresAt, $occurredAt, $agentId, $sessionId, $now)
  RETURNING ${MEMORY_COLUMNS}`;

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
    const project = await this.session.get<{ project_key: bigint | null }>(FIND_PROJECT, { project: projectId });
    const projectKey = project?.project_key ?? null;
    if (projectKey === null) throw new Fault("project_not_found", `There is no project '${projectId}' any more.`);
    const results: (Accepted | Fault)[] = [];
    for (const draft of drafts) results.push(await this.#acceptOne(projectId, projectKey, draft));
    return results;
  }

  async #acceptOne(projectId: ProjectId, projectKey: bigint, draft: MemoryDraft): Promise<Accepted | Fault> {
    const { externalId, userId = null } = draft;
    const known = externalId === undefined ? null : await this.changes.holderOf(projectId, userId, externalId);
    return known === null ? this.#create(projectKey, draft) : this.changes.apply(known, draft);
  }

  async #create(projectKey: bigint, draft: MemoryDraft): Promise<Accepted | Fault> {
    const fingerprint = draft.upload === undefined ? fingerprintOf(draft.content) : fingerprintOfFile(draft.upload);
    const refusal = await this.quotas.refusal(projectKey, { documents: 1, bytes: fingerprint.contentBytes });
    if (refusal !== null) return refusal;
    const { clock, random } = this.context;
    const now = clock.now();
    const { userId } = draft;
    const row = await this.session.get<MemoryRow>(INSERT, {
      id: newId("mem", now, random),
      projectKey,
      userKey: userId === undefined ? null : await ensureKnownUser(this.session, projectKey, userId, now),
      externalId: draft.externalId ?? null,
      ...attributesOf(draft, null, false),
      ...sourceColumns(draft.upload === undefined ? null : unreadSource(draft.upload)),
      ...fingerprint,
      now,
    });
    invariant(row !== null, "an inserted memory returned no row");
    await putTags(this.session, row, null, row.tags);
    await putContent(this.session, row.memory_key, draft.content);
    return { memory: toMemory(row), outcome: "created", releasedFile: null };
  }
}
