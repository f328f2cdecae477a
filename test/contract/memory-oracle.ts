// What a MemoryStore should answer, computed the simplest way: lists in memory, walked from end to end. The randomised part
// of the contract compares a store with it, step by step.

import type { MemoryId, MemoryKey } from "../../src/domain/ids.ts";
import type { MemoryStatus } from "../../src/domain/memory.ts";
import { EXTRACTED_FIELDS, type Extracted, type ExtractedField, type MemoryDraft } from "../../src/domain/memory.ts";

/** A memory as the oracle keeps it. */
export interface OracleMemory {
  readonly project: number;
  readonly key: MemoryKey;
  readonly id: MemoryId;
  readonly userId: string | null;
  readonly externalId: string | null;
  version: number;
  status: MemoryStatus;
  content: string;
  isContentWaiting: boolean;
  attributes: Record<ExtractedField, string | readonly string[] | null>;
  given: Set<ExtractedField>;
  expiresAt: number | null;
  deletedAt: number | null;
  isRetracted: boolean;
  attempts: number;
  lease: number | null;
  claimableAt: number;
}

/** The oracle; `now` is handed to every call. */
export class MemoryOracle {
  memories: OracleMemory[] = [];
  readonly #lastServed = [0, 0];
  #services = 0;

  /** Whether a memory is readable. */
  isLive(memory: OracleMemory, now: number): boolean {
    return memory.deletedAt === null && (memory.expiresAt === null || memory.expiresAt > now);
  }

  /** Readable memories of a project, newest first. */
  live(project: number, now: number): readonly OracleMemory[] {
    return this.memories
      .filter((memory) => memory.project === project && this.isLive(memory, now))
      .sort((a, b) => (a.key < b.key ? 1 : -1));
  }

  /** Takes a draft in; `created` names the new memory where the store made one. */
  accept(
    project: number,
    draft: MemoryDraft,
    now: number,
    created: { readonly key: MemoryKey; readonly id: MemoryId },
  ): { readonly memory: OracleMemory; readonly outcome: "created" | "rewritten" | "updated" } {
    const known = this.live(project, now).find(
      (memory) =>
        draft.externalId !== undefined &&
        memory.externalId === draft.externalId &&
        memory.userId === (draft.userId ?? null),
    );
    const memory = known ?? this.#create(project, draft, now, created);
    const isRework = known !== undefined && (known.status === "failed" || known.content !== draft.content);
    if (isRework) {
      for (const field of EXTRACTED_FIELDS) if (!memory.given.has(field)) memory.attributes[field] = null;
      Object.assign(memory, {
        version: memory.version + 1,
        status: "processing",
        content: draft.content,
        isContentWaiting: true,
        attempts: 0,
        lease: null,
        claimableAt: now,
      });
    }
    for (const field of EXTRACTED_FIELDS) {
      const value = draft[field];
      if (value === undefined) continue;
      memory.attributes[field] = value;
      memory.given.add(field);
    }
    if (draft.expiresAt !== undefined) memory.expiresAt = draft.expiresAt;
    return { memory, outcome: known === undefined ? "created" : isRework ? "rewritten" : "updated" };
  }

  /** The keys that a claim hands out, in its order; `leases` gives each its token afterwards. */
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

  /** Whether a job's holder may still finish it. */
  isHeld(memory: OracleMemory, lease: number, version: number, now: number): boolean {
    return (
      memory.status === "processing" &&
      memory.lease === lease &&
      memory.version === version &&
      this.isLive(memory, now) &&
      this.memories.includes(memory)
    );
  }

  /** Ends a job well. */
  complete(memory: OracleMemory, extracted: Extracted): void {
    memory.status = "completed";
    memory.lease = null;
    memory.isContentWaiting = false;
    for (const field of EXTRACTED_FIELDS) {
      if (!memory.given.has(field)) memory.attributes[field] = extracted[field];
    }
  }

  /** Milliseconds until a job can be claimed. */
  nextJobInMs(now: number): number | null {
    const waiting = this.memories.filter((memory) => memory.status === "processing" && this.isLive(memory, now));
    if (waiting.length === 0) return null;
    return Math.max(0, Math.min(...waiting.map((memory) => memory.claimableAt)) - now);
  }

  /** Marks expired memories as deleted and gives all whose index entries have to go. */
  retired(now: number): readonly OracleMemory[] {
    for (const memory of this.memories) {
      if (memory.deletedAt === null && !this.isLive(memory, now)) memory.deletedAt = memory.expiresAt;
    }
    return this.memories.filter((memory) => memory.deletedAt !== null && !memory.isRetracted);
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
      attributes: { title: null, type: null, tags: null, language: null },
      given: new Set(),
      expiresAt: null,
      deletedAt: null,
      isRetracted: false,
      attempts: 0,
      lease: null,
      claimableAt: now,
    };
    this.memories.push(memory);
    return memory;
  }
}
