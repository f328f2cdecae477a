// Functions on memories that several in-memory stores use: whether a memory is live, new jobs, expiry, quotas and
// erasure.

import type { Fault } from "../../src/domain/fault.ts";
import { filteredAttributesJson } from "../../src/domain/filter.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import type { Memory, MemoryState } from "../../src/domain/memory.ts";
import { quotaRefusal as planRefusal } from "../../src/domain/quota.ts";
import type { VisibleMemory } from "../../src/ports/chunk-index.ts";
import type { UploadedFile } from "../../src/ports/job-store.ts";
import { recordEvent } from "./outbox.ts";
import { openProject } from "./projects.ts";
import type { MemoryRow, Session } from "./session.ts";

/** Whether reads may show a memory: it is neither deleted nor expired. */
export function isLive({ deletedAt, expiresAt }: MemoryRow, now: number): boolean {
  return deletedAt === null && (expiresAt === null || expiresAt > now);
}

/** Live memories of a project, in the order of their keys. A removed project has none. */
export function liveMemories(session: Session, projectId: ProjectId): MemoryRow[] {
  if (openProject(session, projectId) === null) return [];
  return session.tables.memories.rows((row) => row.projectId === projectId && isLive(row, session.now));
}

/** Replaces some fields of a memory's row. */
export function update(session: Session, row: MemoryRow, change: Partial<MemoryRow>): MemoryRow {
  return session.tables.memories.set(row.key, { ...row, ...change });
}

/** Row fields that set a memory to status `processing` with a new version. The job can be claimed at once. */
export function toWork(row: MemoryRow, now: number): Partial<MemoryRow> {
  return {
    version: row.version + 1,
    status: "processing",
    chunkCount: 0,
    error: null,
    attempts: 0,
    lease: null,
    claimableAt: now,
    isReindexed: false,
  };
}

/** The uploaded file of a memory if its text has not been read yet; otherwise null. */
export function uploadedFileOf({ file, source, contentHash }: MemoryRow): UploadedFile | null {
  if (file === null || source === null) return null;
  const { bytes, filename, media_type } = source;
  return { name: file, bytes, filename, mediaType: media_type, contentSha256: contentHash };
}

/**
 * Marks expired memories as deleted, with the time of their expiry as time of the deletion, and records their events.
 */
export function recordExpiry(session: Session, rows: readonly MemoryRow[]): void {
  for (const row of rows) {
    recordEvent(session, "memory.deleted", update(session, row, { deletedAt: row.expiresAt, lease: null }));
  }
}

/** Expired memories of existing projects that are not marked as deleted yet, earliest expiry first. */
export function unrecordedExpiries(session: Session, projectId?: ProjectId): MemoryRow[] {
  return session.tables.memories
    .rows(
      (row) =>
        row.deletedAt === null &&
        !isLive(row, session.now) &&
        (projectId ?? row.projectId) === row.projectId &&
        openProject(session, row.projectId) !== null,
    )
    .sort((a, b) => (a.expiresAt ?? 0) - (b.expiresAt ?? 0));
}

/**
 * Number and bytes of a project's memories that count towards its quotas: all that are not marked as deleted. The
 * project's `occupiedBytes` are included.
 */
export function stored(session: Session, projectId: ProjectId): { readonly documents: number; readonly bytes: number } {
  const counted = session.tables.memories.rows((row) => row.projectId === projectId && row.deletedAt === null);
  const occupied = session.tables.projects.get(projectId)?.occupiedBytes ?? 0;
  return { documents: counted.length, bytes: counted.reduce((sum, row) => sum + row.contentBytes, occupied) };
}

/**
 * Returns a Fault if the quotas of a project do not allow that many more memories and bytes. If they do not, it first
 * marks expired memories as deleted and checks again.
 */
export function quotaRefusal(session: Session, projectId: ProjectId, documents: number, bytes: number): Fault | null {
  const refusal = exceededQuota(session, projectId, documents, bytes);
  const expired = refusal === null ? [] : unrecordedExpiries(session, projectId);
  if (expired.length === 0) return refusal;
  recordExpiry(session, expired);
  return exceededQuota(session, projectId, documents, bytes);
}

function exceededQuota(session: Session, projectId: ProjectId, documents: number, bytes: number): Fault | null {
  const plan = openProject(session, projectId)?.project.plan ?? "free";
  return planRefusal(plan, stored(session, projectId), { documents, bytes });
}

/**
 * Erases a memory, the sources in chats that refer to it, the bodies of stored responses (see `AnswerRow`) about it,
 * and all but its id in deliveries.
 */
export function eraseMemory({ tables }: Session, row: MemoryRow): void {
  tables.memories.delete(row.key);
  for (const message of tables.messages.rows(({ sources }) => sources.some((one) => one.memoryKey === row.key))) {
    const sources = message.sources.filter((one) => one.memoryKey !== row.key);
    tables.messages.set(message.id, { ...message, sources });
  }
  for (const [key, answer] of answersAbout(tables, [row.id])) {
    tables.answers.set(key, { ...answer, body: null, subjects: answer.subjects.filter((one) => one !== row.id) });
  }
  for (const delivery of tables.deliveries.rows()) {
    const event = JSON.parse(delivery.body) as { readonly data: { readonly id?: string } };
    if (event.data.id !== row.id) continue;
    tables.deliveries.set(delivery.id, { ...delivery, body: JSON.stringify({ ...event, data: { id: row.id } }) });
  }
}

/** Stored responses (see `AnswerRow`) that are about one of these ids, with their keys in the table `answers`. */
export function answersAbout(tables: Session["tables"], subjects: readonly string[]) {
  return tables.answers
    .rows((answer) => answer.subjects.some((subject) => subjects.includes(subject)))
    .map((answer) => [JSON.stringify(answer.slot), answer] as const);
}

/** Converts a row to what an index needs to show the memory. */
export function toVisible(row: MemoryRow): VisibleMemory {
  const memory = toMemory(row);
  const { key: memoryKey, userKey, expiresAt } = memory;
  return { memoryKey, userKey, expiresAt, attributes: filteredAttributesJson(memory) };
}

/** Converts a row to a Memory. */
export function toMemory(row: MemoryRow): Memory {
  const { key, id, version, title, type, tags, language, metadata, userId, userKey, agentId, sessionId } = row;
  const { externalId, createdAt, updatedAt, expiresAt, occurredAt, contentBytes, source, given } = row;
  return {
    ...{ key, id, version, state: toState(row), title, type, tags, language, metadata, userId, userKey },
    ...{ agentId, sessionId, externalId, createdAt, updatedAt, expiresAt, occurredAt, contentBytes, source, given },
  };
}

function toState({ status, attempts, chunkCount, extraction, error }: MemoryRow): MemoryState {
  if (status === "processing") return { status, attempts };
  if (status === "completed") return { status, chunkCount, extraction: extraction ?? "local" };
  if (error === null) throw new Error("a failed memory has no error");
  return { status, error };
}
