// Oracle for MemoryStore: computes the expected answers in the simplest way, with lists in memory. The randomised part
// of the contract compares a store with it, step by step.

import { isDeepStrictEqual } from "node:util";
import type { FaultCode } from "../../src/domain/fault.ts";
import type { MemoryId, MemoryKey } from "../../src/domain/ids.ts";
import type { Extracted, MemoryChange, MemoryDraft, MemoryStatus } from "../../src/domain/memory.ts";
import { EXTRACTED_FIELDS, type ExtractedField } from "../../src/domain/memory-attributes.ts";
import type { WebhookEvent } from "../../src/domain/webhook.ts";

/** A memory of the oracle. */
export interface OracleMemory {
  readonly project: number;
  readonly key: MemoryKey;
  readonly id: MemoryId;
  userId: string | null;
  externalId: string | null;
  version: number;
  status: MemoryStatus;
  content: string;
  isContentWaiting: boolean;
  attributes: Record<ExtractedField, string | readonly string[] | null>;
  given: Set<ExtractedField>;
  expiresAt: number | null;
  occurredAt: number | null;
  occurredAtGiven: string | null;
  agentId: string | null;
  sessionId: string | null;
  deletedAt: number | null;
  isRetracted: boolean;
  isPurgeAsked: boolean;
  attempts: number;
  lease: number | null;
  claimableAt: number;
}

/** Quotas of a project. `bytesOccupied` counts towards the storage quota in addition to the memories of the oracle. */
export interface OracleQuota {
  readonly documents: number;
  readonly bytes: number;
  readonly bytesOccupied: number;
}

/** The outcome of a draft or a change. */
export interface OracleOutcome {
  readonly memory: OracleMemory;
  readonly outcome: "created" | "rewritten" | "updated" | "unchanged";
}

/** Filter of a list of memories. */
export interface OracleFilter {
  readonly status?: MemoryStatus;
  readonly type?: string;
  readonly userId?: string;
  readonly agentId?: string;
  readonly sessionId?: string;
  readonly tag?: string;
  readonly q?: string;
}

/** The oracle. It has no clock: every call gets the time, `now`, in Unix milliseconds. */
export class MemoryOracle {
  memories: OracleMemory[] = [];
  /** All events, in their order. */
  events: { event: WebhookEvent; key: MemoryKey }[] = [];
  readonly #lastServed = [0, 0];
  #services = 0;

  /** @param quotas the quotas of each project, by project number */
  constructor(private readonly quotas: readonly OracleQuota[]) {}

  /** Whether reads return a memory: it is neither deleted nor expired. */
  isLive(memory: OracleMemory, now: number): boolean {
    return memory.deletedAt === null && (memory.expiresAt === null || memory.expiresAt > now);
  }

  /** Live memories of a project that match the filter, newest first. */
  live(project: number, now: number, filter: OracleFilter = {}): readonly OracleMemory[] {
    return this.memories
      .filter((memory) => memory.project === project && this.isLive(memory, now) && isListed(memory, filter))
      .sort((a, b) => (a.key < b.key ? 1 : -1));
  }

  /**
   * Accepts a draft. `created` has key and id of the memory that the store created for the draft, or is null if it
   * created none.
   */
  accept(
    project: number,
    draft: MemoryDraft,
    now: number,
    created: { readonly key: MemoryKey; readonly id: MemoryId } | null,
  ): OracleOutcome | FaultCode {
    const known =
      draft.externalId === undefined ? undefined : this.#holder(project, draft.userId ?? null, draft.externalId, now);
    if (known !== undefined) return this.#apply(known, draft, now);
    const refusal = this.#refusal(project, 1, Buffer.byteLength(draft.content), now);
    if (refusal !== null) return refusal;
    if (created === null) throw new Error("the store did not create a memory");
    return { memory: this.#create(project, draft, now, created), outcome: "created" };
  }

  /** Changes a memory. A refused change has no effect. */
  change(memory: OracleMemory, change: MemoryChange, now: number): OracleOutcome | FaultCode | null {
    if (!this.isLive(memory, now)) return null;
    const before = { deletedAt: this.memories.map(({ deletedAt }) => deletedAt), events: this.events.length };
    const changed = this.#apply(memory, change, now);
    if (typeof changed === "string") {
      for (const [at, other] of this.memories.entries()) other.deletedAt = before.deletedAt[at] ?? null;
      this.events.length = before.events;
    }
    return changed;
  }

  /** Puts a failed memory back to `processing`. */
  retry(memory: OracleMemory, now: number): "invalid_state" | null {
    if (!this.isLive(memory, now)) return null;
    if (memory.status !== "failed") return "invalid_state";
    toWork(memory, now);
    return null;
  }

  /** Deletes a live memory. */
  remove(memory: OracleMemory, now: number, purges: boolean): void {
    memory.deletedAt = now;
    memory.isPurgeAsked = purges;
    this.#record("memory.deleted", memory);
  }

  /** Deletes all memories of a user, oldest first. */
  removeAllOf(project: number, userId: string, now: number): readonly OracleMemory[] {
    const owned = this.live(project, now, { userId }).toReversed();
    for (const memory of owned) this.remove(memory, now, false);
    return owned;
  }

  /**
   * Claims jobs and returns their memories in the order of the claim. The caller sets `lease` of each memory to the
   * token that the store returned.
   */
  claim(jobs: number, contentBytes: number, leaseMs: number, now: number): readonly OracleMemory[] {
    const claimed: OracleMemory[] = [];
    let bytes = 0;
    while (claimed.length < jobs) {
      const next = [0, 1]
        .sort((a, b) => (this.#lastServed[a] ?? 0) - (this.#lastServed[b] ?? 0) || a - b)
        .map((project) => this.#oldest(project, now))
        .find((memory) => memory !== undefined);
      if (next === undefined) break;
      bytes += Buffer.byteLength(next.content);
      if (bytes > contentBytes && claimed.length > 0) break;
      next.attempts += 1;
      next.claimableAt = now + leaseMs;
      this.#services += 1;
      this.#lastServed[next.project] = this.#services;
      claimed.push(next);
    }
    return claimed;
  }

  /** Whether the worker that claimed a job may still finish it. */
  isHeld(memory: OracleMemory, lease: number, version: number, now: number): boolean {
    return (
      memory.status === "processing" &&
      memory.lease === lease &&
      memory.version === version &&
      this.isLive(memory, now) &&
      this.memories.includes(memory)
    );
  }

  /** Completes a job. */
  complete(memory: OracleMemory, extracted: Extracted): void {
    memory.status = "completed";
    memory.lease = null;
    memory.isContentWaiting = false;
    for (const field of EXTRACTED_FIELDS) {
      if (!memory.given.has(field)) memory.attributes[field] = extracted[field];
    }
    this.#record("memory.completed", memory);
  }

  /** Fails a job. */
  fail(memory: OracleMemory): void {
    memory.status = "failed";
    memory.lease = null;
    this.#record("memory.failed", memory);
  }

  /** Milliseconds until the next job can be claimed; null if there is none. */
  nextJobInMs(now: number): number | null {
    const waiting = this.memories.filter((memory) => memory.status === "processing" && this.isLive(memory, now));
    if (waiting.length === 0) return null;
    return Math.max(0, Math.min(...waiting.map((memory) => memory.claimableAt)) - now);
  }

  /** Marks expired memories as deleted, and returns all memories that have to leave the index. */
  retired(now: number): readonly OracleMemory[] {
    this.#endDue(now, this.memories);
    return this.memories.filter((memory) => memory.deletedAt !== null && !memory.isRetracted);
  }

  #apply(memory: OracleMemory, change: MemoryChange, now: number): OracleOutcome | FaultCode {
    const externalId = change.externalId === undefined ? memory.externalId : change.externalId;
    const userId = change.userId === undefined ? memory.userId : change.userId;
    const isMoved = externalId !== memory.externalId || userId !== memory.userId;
    if (externalId !== null && isMoved && this.#holder(memory.project, userId, externalId, now) !== undefined) {
      return "external_id_conflict";
    }
    const before = attributesOf(memory);
    const { content } = change;
    const isRework = content !== undefined && (memory.status === "failed" || memory.content !== content);
    if (isRework) {
      const refusal = this.#refusal(
        memory.project,
        0,
        Buffer.byteLength(content) - Buffer.byteLength(memory.content),
        now,
      );
      if (refusal !== null) return refusal;
      for (const field of EXTRACTED_FIELDS) if (!memory.given.has(field)) memory.attributes[field] = null;
      toWork(memory, now);
      Object.assign(memory, { content, isContentWaiting: true });
    }
    for (const field of EXTRACTED_FIELDS) {
      const value = change[field];
      if (value === undefined) continue;
      memory.attributes[field] = value;
      if (value === null) memory.given.delete(field);
      else memory.given.add(field);
    }
    Object.assign(memory, { externalId, userId });
    if (change.expiresAt !== undefined) memory.expiresAt = change.expiresAt;
    if (change.occurredAt !== undefined) memory.occurredAt = change.occurredAt;
    if (change.occurredAtGiven !== undefined) memory.occurredAtGiven = change.occurredAtGiven;
    if (change.agentId !== undefined) memory.agentId = change.agentId;
    if (change.sessionId !== undefined) memory.sessionId = change.sessionId;
    if (isRework) return { memory, outcome: "rewritten" };
    if (isDeepStrictEqual(attributesOf(memory), before)) return { memory, outcome: "unchanged" };
    this.#record("memory.updated", memory);
    return { memory, outcome: "updated" };
  }

  // The memory of the user with this external id. If it has expired, it is marked as deleted, and the id is free again.
  #holder(project: number, userId: string | null, externalId: string, now: number): OracleMemory | undefined {
    const holders = this.memories.filter(
      (memory) => memory.project === project && memory.externalId === externalId && memory.userId === userId,
    );
    this.#endDue(now, holders);
    return holders.find((memory) => memory.deletedAt === null);
  }

  #refusal(project: number, documents: number, bytes: number, now: number): FaultCode | null {
    const refusal = this.#exceeded(project, documents, bytes);
    if (refusal !== null) {
      this.#endDue(
        now,
        this.memories.filter((memory) => memory.project === project),
      );
    }
    return refusal === null ? null : this.#exceeded(project, documents, bytes);
  }

  #exceeded(project: number, documents: number, bytes: number): FaultCode | null {
    const quota = this.quotas[project];
    const counted = this.memories.filter((memory) => memory.project === project && memory.deletedAt === null);
    const stored = counted.reduce((sum, memory) => sum + Buffer.byteLength(memory.content), 0);
    if (quota === undefined) return null;
    if (documents > 0 && counted.length + documents > quota.documents) return "document_quota_exceeded";
    if (bytes > 0 && quota.bytesOccupied + stored + bytes > quota.bytes) return "storage_quota_exceeded";
    return null;
  }

  #endDue(now: number, among: readonly OracleMemory[]): void {
    const due = among.filter((memory) => memory.deletedAt === null && !this.isLive(memory, now));
    for (const memory of due) {
      memory.deletedAt = memory.expiresAt;
      this.#record("memory.deleted", memory);
    }
  }

  #record(event: WebhookEvent, { key }: OracleMemory): void {
    this.events.push({ event, key });
  }

  #oldest(project: number, now: number): OracleMemory | undefined {
    return this.live(project, now)
      .filter((memory) => memory.status === "processing" && memory.claimableAt <= now)
      .sort((a, b) => a.claimableAt - b.claimableAt || (a.key < b.key ? -1 : 1))[0];
  }

  #create(
    project: number,
    draft: MemoryDraft,
    now: number,
    created: { readonly key: MemoryKey; readonly id: MemoryId },
  ): OracleMemory {
    const memory: OracleMemory = {
      project,
      ...created,
      userId: draft.userId ?? null,
      externalId: draft.externalId ?? null,
      version: 1,
      status: "processing",
      content: draft.content,
      isContentWaiting: true,
      attributes: {
        title: draft.title ?? null,
        type: draft.type ?? null,
        tags: draft.tags ?? null,
        language: draft.language ?? null,
      },
      given: new Set(EXTRACTED_FIELDS.filter((field) => draft[field] !== undefined)),
      expiresAt: draft.expiresAt ?? null,
      occurredAt: draft.occurredAt ?? null,
      occurredAtGiven: draft.occurredAtGiven ?? null,
      agentId: draft.agentId ?? null,
      sessionId: draft.sessionId ?? null,
      deletedAt: null,
      isRetracted: false,
      isPurgeAsked: false,
      attempts: 0,
      lease: null,
      claimableAt: now,
    };
    this.memories.push(memory);
    return memory;
  }
}

/** A copy of what callers set, except the content. */
function attributesOf(memory: OracleMemory) {
  const { userId, externalId, attributes, given, agentId, sessionId } = memory;
  const { expiresAt, occurredAt, occurredAtGiven } = memory;
  const times = { expiresAt, occurredAt, occurredAtGiven };
  return { userId, externalId, agentId, sessionId, ...times, attributes: { ...attributes }, given: new Set(given) };
}

function toWork(memory: OracleMemory, now: number): void {
  const version = memory.version + 1;
  Object.assign(memory, { version, status: "processing", attempts: 0, lease: null, claimableAt: now });
}

function isListed(memory: OracleMemory, filter: OracleFilter): boolean {
  const { status, type, userId, agentId, sessionId, tag, q } = filter;
  const { title, tags } = memory.attributes;
  return (
    (status === undefined || memory.status === status) &&
    (type === undefined || memory.attributes.type === type) &&
    (userId === undefined || memory.userId === userId) &&
    (agentId === undefined || memory.agentId === agentId) &&
    (sessionId === undefined || memory.sessionId === sessionId) &&
    (tag === undefined || (tags ?? []).includes(tag)) &&
    (q === undefined || (typeof title === "string" && title.toLowerCase().includes(q.toLowerCase())))
  );
}
