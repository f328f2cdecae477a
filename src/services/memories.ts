// What callers do with memories: store, read, list, delete. Decides the order of steps; no HTTP and no SQL here.

import type { MemoryId, ProjectId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Memory, MemoryDraft } from "../domain/memory.ts";
import type { Page } from "../domain/page.ts";
import type { ChunkIndex } from "../ports/chunk-index.ts";
import type { Accepted, MemoryListing, MemoryStore } from "../ports/memory-store.ts";

/** A memory with its text, as callers see it. */
export interface MemoryWithContent {
  readonly memory: Memory;
  readonly content: string;
}

/** What the service stands on. */
export interface MemoryServiceParts {
  readonly memories: MemoryStore;
  readonly index: ChunkIndex;
  /** Tells the ingest worker that there may be work. */
  readonly wakeIngest: () => void;
}

/** Storing, reading, listing and deleting memories of one project. */
export class MemoryService {
  readonly #parts: MemoryServiceParts;

  constructor(parts: MemoryServiceParts) {
    this.#parts = parts;
  }

  /** Stores drafts; durable when it resolves. Their order is kept. */
  async create(projectId: ProjectId, drafts: readonly MemoryDraft[]): Promise<readonly Accepted[]> {
    const index = await this.#parts.index.project(projectId);
    const accepted = this.#parts.memories.accept(projectId, drafts);
    // No await between the transaction and this: a search sees either the old row in full or none of it.
    for (const { memory, outcome } of accepted) {
      if (outcome === "rewritten") index.hide([memory.key]);
      if (outcome === "updated" && memory.state.status === "completed") {
        index.show([{ memoryKey: memory.key, userKey: memory.userKey, expiresAt: memory.expiresAt }]);
      }
    }
    this.#parts.wakeIngest();
    return accepted;
  }

  /** The contents of memories as the caller just read them, in their order. */
  async withContents(memories: readonly Memory[]): Promise<readonly MemoryWithContent[]> {
    const waiting = this.#parts.memories.waitingContents(memories.map((memory) => memory.key));
    const published = memories.filter((memory) => !waiting.has(memory.key)).map((memory) => memory.key);
    const archived = published.length === 0 ? new Map() : await this.#parts.index.contents(published);
    return memories.map((memory) => ({
      memory,
      content: waiting.get(memory.key) ?? archived.get(memory.key) ?? "",
    }));
  }

  /** One memory, or null when it is absent, deleted, expired or another project's. */
  async get(projectId: ProjectId, id: MemoryId): Promise<MemoryWithContent | null> {
    const memory = this.#parts.memories.get(projectId, id);
    if (memory === null) return null;
    const [shown] = await this.withContents([memory]);
    return shown ?? null;
  }

  /** One page, newest first. Throws Fault `invalid_cursor`. */
  async list(projectId: ProjectId, listing: Omit<MemoryListing, "contentBytesMax">): Promise<Page<MemoryWithContent>> {
    const page = this.#parts.memories.list(projectId, { ...listing, contentBytesMax: LIMITS.pageContentBytes });
    return { items: await this.withContents(page.items), cursor: page.cursor };
  }

  /** Soft delete: out of every read and search when it resolves. False when there was nothing to delete. */
  async remove(projectId: ProjectId, id: MemoryId): Promise<boolean> {
    const index = await this.#parts.index.project(projectId);
    const removed = this.#parts.memories.remove(projectId, id);
    if (removed === null) return false;
    index.hide([removed.key]);
    this.#parts.wakeIngest();
    return true;
  }
}
