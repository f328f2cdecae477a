// MemoryStore in memory.

import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { Fault } from "../../src/domain/fault.ts";
import { hashOfFile } from "../../src/domain/file-hash.ts";
import type { MemoryId, MemoryKey, ProjectId, UserKey } from "../../src/domain/ids.ts";
import {
  EXTRACTED_FIELDS,
  type ExtractedField,
  type Memory,
  type MemoryChange,
  type MemoryDraft,
  type MemoryStatus,
  type ReceivedFile,
} from "../../src/domain/memory.ts";
import { decodeCursor, encodeCursor, type Page } from "../../src/domain/page.ts";
import type { VisibleMemory } from "../../src/ports/chunk-index.ts";
import type { Accepted, MemoryListing, MemoryStore } from "../../src/ports/memory-store.ts";
import type { TextFile } from "../../src/ports/upload-files.ts";
import { isLive, liveMemories, quotaRefusal, recordExpiry, toMemory, toVisible, toWork, update } from "./memory-row.ts";
import { recordEvent } from "./outbox.ts";
import { cursorBinding, existingProject, nameUser, userKeyOf } from "./projects.ts";
import { jsonCopy, type MemoryRow, type Session, type Synchronous } from "./session.ts";

/** MemoryStore in memory. */
export class InMemoryMemories implements Synchronous<MemoryStore> {
  constructor(private readonly session: Session) {}

  accept(projectId: ProjectId, drafts: readonly MemoryDraft[]): readonly (Accepted | Fault)[] {
    existingProject(this.session, projectId);
    return drafts.map((draft) => {
      const { externalId, userId = null } = draft;
      const known = externalId === undefined ? null : this.#holder(projectId, userId, externalId);
      return known === null ? this.#create(projectId, draft) : this.#apply(known, draft);
    });
  }

  change(projectId: ProjectId, id: MemoryId, change: MemoryChange): Accepted | null {
    const known = this.#find(projectId, id);
    if (known === null) return null;
    const changed = this.#apply(known, change);
    if (changed instanceof Fault) throw changed;
    return changed;
  }

  retry(projectId: ProjectId, id: MemoryId): Memory | null {
    const known = this.#find(projectId, id);
    if (known === null) return null;
    if (known.status !== "failed") {
      throw new Fault("invalid_state", `Only a failed memory can be tried again; this one is ${known.status}.`);
    }
    const { now } = this.session;
    return toMemory(update(this.session, known, { ...toWork(known, now), updatedAt: now }));
  }

  get(projectId: ProjectId, id: MemoryId): Memory | null {
    const row = this.#find(projectId, id);
    return row === null ? null : toMemory(row);
  }

  getMany(projectId: ProjectId, keys: readonly MemoryKey[]): ReadonlyMap<MemoryKey, Memory> {
    const asked = new Set(keys);
    const rows = liveMemories(this.session, projectId).filter(({ key }) => asked.has(key));
    return new Map(rows.map((row) => [row.key, toMemory(row)]));
  }

  waitingContents(keys: readonly MemoryKey[]): ReadonlyMap<MemoryKey, string> {
    const asked = new Set(keys);
    const rows = this.session.tables.memories.rows((row) => asked.has(row.key) && isLive(row, this.session.now));
    return new Map(rows.flatMap(({ key, content }) => (content === null ? [] : [[key, content]])));
  }

  waitingTextFiles(keys: readonly MemoryKey[]): ReadonlyMap<MemoryKey, TextFile> {
    const asked = new Set(keys);
    const rows = this.session.tables.memories.rows((row) => asked.has(row.key) && isLive(row, this.session.now));
    return new Map(
      rows.flatMap(({ key, file, source, contentHash }) =>
        file === null || source !== null ? [] : [[key, { name: file, sha256: contentHash }]],
      ),
    );
  }

  isMadeFrom(projectId: ProjectId, id: MemoryId, upload: ReceivedFile): boolean {
    return this.#find(projectId, id)?.contentHash === fingerprintOf("", upload).contentHash;
  }

  list(projectId: ProjectId, listing: MemoryListing): Page<Memory> {
    const { status, type, userId, agentId, sessionId, tag, q, limit, cursor } = listing;
    const { contentBytesMax = Number.POSITIVE_INFINITY } = listing;
    const part = q === undefined ? undefined : foldTitle(q);
    const parts = [status, type, userId, tag, part, agentId, sessionId].map((each) => each ?? null);
    const binding = cursorBinding(this.session, projectId, ["memories", ...parts]);
    const before = cursor === undefined ? null : decodeCursor(cursor, binding);
    const rows = liveMemories(this.session, projectId)
      .filter(
        (row) =>
          (before === null || row.key < before) &&
          (status === undefined || row.status === status) &&
          (type === undefined || row.type === type) &&
          (userId === undefined || row.userId === userId) &&
          (agentId === undefined || row.agentId === agentId) &&
          (sessionId === undefined || row.sessionId === sessionId) &&
          (tag === undefined || row.tags?.includes(tag) === true) &&
          (part === undefined || (row.title !== null && foldTitle(row.title).includes(part))),
      )
      .reverse();
    let bytes = 0;
    const items: Memory[] = [];
    for (const row of rows) {
      bytes += row.contentBytes;
      if (items.length === limit || (items.length > 0 && bytes > contentBytesMax)) break;
      items.push(toMemory(row));
    }
    const last = items.at(-1);
    return { items, cursor: rows.length > items.length && last !== undefined ? encodeCursor(last.key, binding) : null };
  }

  remove(projectId: ProjectId, id: MemoryId, { purges } = { purges: false }): Memory | null {
    const row = this.#find(projectId, id);
    return row === null ? null : this.#delete(row, purges);
  }

  removeMany(projectId: ProjectId, keys: readonly MemoryKey[]): readonly MemoryKey[] {
    const asked = new Set(keys);
    const rows = liveMemories(this.session, projectId).filter(({ key }) => asked.has(key));
    for (const row of rows) this.#delete(row, false);
    return rows.map(({ key }) => key);
  }

  removeAllOf(projectId: ProjectId, userId: string): readonly MemoryKey[] {
    const rows = liveMemories(this.session, projectId).filter((row) => row.userId === userId);
    for (const row of rows) this.#delete(row, false);
    return rows.map(({ key }) => key);
  }

  userKey(projectId: ProjectId, userId: string): UserKey | null {
    return userKeyOf(this.session, projectId, userId);
  }

  visible(
    projectId: ProjectId,
    page?: { readonly afterKey: MemoryKey | null; readonly limit: number },
  ): readonly VisibleMemory[] {
    return liveMemories(this.session, projectId)
      .filter(({ status, key }) => status === "completed" && key > (page?.afterKey ?? 0n))
      .slice(0, page?.limit)
      .map(toVisible);
  }

  unreferencedFiles(files: readonly string[]): readonly string[] {
    const referenced = new Set(this.session.tables.memories.rows().map(({ file }) => file));
    return files.filter((file) => !referenced.has(file));
  }

  counts(): Readonly<Record<MemoryStatus, number>> {
    const counts: Record<MemoryStatus, number> = { processing: 0, completed: 0, failed: 0 };
    for (const { status } of this.session.tables.memories.rows((row) => isLive(row, this.session.now))) {
      counts[status] += 1;
    }
    return counts;
  }

  #find(projectId: ProjectId, id: MemoryId): MemoryRow | null {
    return liveMemories(this.session, projectId).find((row) => row.id === id) ?? null;
  }

  /**
   * The user's live memory with this external id, or null. If the memory that has the id has expired, this method
   * records the expiry and returns null.
   */
  #holder(projectId: ProjectId, userId: string | null, externalId: string): MemoryRow | null {
    const holder = this.session.tables.memories.find(
      (row) =>
        row.deletedAt === null && row.projectId === projectId && row.userId === userId && row.externalId === externalId,
    );
    if (holder === undefined || isLive(holder, this.session.now)) return holder ?? null;
    recordExpiry(this.session, [holder]);
    return null;
  }

  #create(projectId: ProjectId, draft: MemoryDraft): Accepted | Fault {
    const { content } = draft;
    const fingerprint = fingerprintOf(content, draft.upload);
    const refusal = quotaRefusal(this.session, projectId, 1, fingerprint.contentBytes);
    if (refusal !== null) return refusal;
    const { now } = this.session;
    const key = this.session.next("memory") as MemoryKey;
    const row = this.session.tables.memories.set(key, {
      key,
      id: this.session.newId("mem") as MemoryId,
      projectId,
      userKey: draft.userId === undefined ? null : nameUser(this.session, projectId, draft.userId).key,
      userId: draft.userId ?? null,
      externalId: draft.externalId ?? null,
      version: 1,
      status: "processing",
      ...attributesAfter(draft, null, false),
      ...fingerprint,
      content,
      source: draft.upload?.source ?? null,
      file: draft.upload?.file ?? null,
      chunkCount: 0,
      extraction: null,
      isReindexed: false,
      error: null,
      attempts: 0,
      lease: null,
      claimableAt: now,
      createdAt: now,
      updatedAt: now,
      deletedAt: null,
      isRetracted: false,
      isPurgeAsked: false,
      facts: null,
      llmExtraction: null,
    });
    return { memory: toMemory(row), outcome: "created", releasedFile: null };
  }

  #apply(known: MemoryRow, change: MemoryChange): Accepted | Fault {
    const { content, upload } = change;
    const fingerprint = content === undefined ? null : fingerprintOf(content, upload);
    // content that did not change is processed again only if processing failed before
    const isRework =
      fingerprint !== null && (fingerprint.contentHash !== known.contentHash || known.status === "failed");
    const externalId = change.externalId === undefined ? known.externalId : change.externalId;
    const userId = change.userId === undefined ? known.userId : change.userId;
    const isMoved = externalId !== known.externalId || userId !== known.userId;
    if (externalId !== null && isMoved && this.#holder(known.projectId, userId, externalId) !== null) {
      return new Fault("external_id_conflict", "Another memory has this externalId: choose one that is free.", {
        param: "externalId",
      });
    }
    const growth = isRework ? fingerprint.contentBytes - known.contentBytes : 0;
    const refusal = quotaRefusal(this.session, known.projectId, 0, growth);
    if (refusal !== null) return refusal;
    const { now } = this.session;
    const after = {
      ...attributesAfter(change, known, isRework),
      externalId,
      userId,
      userKey: this.#ownerKey(known, change.userId),
    };
    const isSame = Object.entries(after).every(([name, value]) =>
      isDeepStrictEqual(value, known[name as keyof MemoryRow]),
    );
    if (!isRework && isSame) return { memory: toMemory(known), outcome: "unchanged", releasedFile: null };
    const work: Partial<MemoryRow> = isRework
      ? {
          ...toWork(known, now),
          ...fingerprint,
          content: content ?? "",
          source: upload?.source ?? null,
          file: upload?.file ?? null,
        }
      : {};
    const row = update(this.session, known, {
      ...work,
      ...after,
      updatedAt: now,
    });
    if (!isRework) recordEvent(this.session, "memory.updated", row);
    const outcome = isRework ? "rewritten" : "updated";
    return { memory: toMemory(row), outcome, releasedFile: isRework ? known.file : null };
  }

  #ownerKey(known: MemoryRow, userId: string | null | undefined): UserKey | null {
    if (userId === undefined) return known.userKey;
    return userId === null ? null : nameUser(this.session, known.projectId, userId).key;
  }

  #delete(row: MemoryRow, isPurgeAsked: boolean): Memory {
    recordEvent(
      this.session,
      "memory.deleted",
      update(this.session, row, { deletedAt: this.session.now, lease: null, isPurgeAsked }),
    );
    return toMemory(row);
  }
}

/** Normalises a title, or the searched part of one, for comparison in lists: NFKC, lower case, final sigma as sigma. */
function foldTitle(title: string): string {
  return title.normalize("NFKC").toLowerCase().replaceAll("ς", "σ");
}

/** Size and hash of a text or file. */
function fingerprintOf(content: string, upload?: ReceivedFile): Pick<MemoryRow, "contentBytes" | "contentHash"> {
  if (upload === undefined) {
    const contentHash = createHash("sha256").update(content).digest("hex");
    return { contentBytes: Buffer.byteLength(content), contentHash };
  }
  const { bytes, sha256, source } = upload;
  const hash = source === null ? Buffer.from(sha256) : hashOfFile(sha256, source.media_type);
  return { contentBytes: bytes, contentHash: hash.toString("hex") };
}

type Attributes = Pick<
  MemoryRow,
  "title" | "type" | "tags" | "language" | "metadata" | "given" | "expiresAt" | "occurredAt" | "agentId" | "sessionId"
>;

/**
 * The attributes after a change. A field that the change lacks keeps its value; null clears it. If the content is
 * processed again (`isRework`), extracted attributes are cleared, too; attributes that a caller gave stay.
 */
function attributesAfter(change: MemoryChange, known: MemoryRow | null, isRework: boolean): Attributes {
  const isKept = (field: ExtractedField) => !isRework || known?.given.includes(field) === true;
  const after = <Field extends ExtractedField>(field: Field): MemoryRow[Field] | null =>
    ((change[field] === undefined ? (isKept(field) ? known?.[field] : null) : change[field]) ?? null) as
      | MemoryRow[Field]
      | null;
  const tags = after("tags");
  const metadata = change.metadata === undefined ? (known?.metadata ?? null) : change.metadata;
  return {
    title: after("title"),
    type: after("type"),
    tags: tags === null ? null : jsonCopy(tags),
    language: after("language"),
    metadata: metadata === null ? null : jsonCopy(metadata),
    given: EXTRACTED_FIELDS.filter((field) =>
      change[field] === undefined ? known?.given.includes(field) === true : change[field] !== null,
    ),
    expiresAt: change.expiresAt === undefined ? (known?.expiresAt ?? null) : change.expiresAt,
    occurredAt: change.occurredAt === undefined ? (known?.occurredAt ?? null) : change.occurredAt,
    agentId: change.agentId === undefined ? (known?.agentId ?? null) : change.agentId,
    sessionId: change.sessionId === undefined ? (known?.sessionId ?? null) : change.sessionId,
  };
}
