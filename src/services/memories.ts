// What callers do with memories: store, read, list, change, delete. Decides the order of steps and who may see what; no HTTP
// and no SQL here.

import { Fault, invariant } from "../domain/fault.ts";
import { filteredAttributesJson } from "../domain/filter.ts";
import type { MemoryId, MemoryKey, ProjectId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Memory, MemoryChange, MemoryDraft } from "../domain/memory.ts";
import type { Page } from "../domain/page.ts";
import { userOf, type Viewer } from "../domain/scope.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { Log } from "../kit/log.ts";
import type { ChunkIndex, ProjectIndex } from "../ports/chunk-index.ts";
import type { Accepted, MemoryListing, MemoryStore } from "../ports/memory-store.ts";
import type { Transactions } from "../ports/transactions.ts";
import { ContentCache } from "./content-cache.ts";

/** A memory with its text, as callers see it. */
export interface MemoryWithContent {
  readonly memory: Memory;
  readonly content: string;
}

/** What the service stands on. */
export interface MemoryServiceParts {
  readonly memories: MemoryStore;
  readonly index: ChunkIndex;
  readonly transactions: Transactions;
  readonly log: Log;
  /** Tells the ingest worker that there may be work. */
  readonly wakeIngest: () => void;
}

/** Memories of one project, as far as a viewer may see them: those of others are as absent as those that never were. */
export class MemoryService {
  readonly #parts: MemoryServiceParts;
  readonly #contents = new ContentCache(LIMITS.contentCacheBytes);

  constructor(parts: MemoryServiceParts) {
    this.#parts = parts;
  }

  /** Where a viewer's changes are made, synchronously, so that they can be part of the caller's transaction. */
  async open(viewer: Viewer): Promise<MemoryDesk> {
    return new MemoryDesk(viewer, this.#parts, await this.#parts.index.project(viewer.projectId), this.#contents);
  }

  /** The contents of memories as the caller just read them, in their order. */
  async withContents(memories: readonly Memory[]): Promise<readonly MemoryWithContent[]> {
    const held = new Map<MemoryKey, string>();
    for (const memory of memories) {
      const content = this.#contents.get(memory);
      if (content !== null) held.set(memory.key, content);
    }
    const unread = memories.filter((memory) => !held.has(memory.key));
    const read = unread.length === 0 ? held : await this.#read(unread);
    return memories.map((memory) => ({ memory, content: held.get(memory.key) ?? read.get(memory.key) ?? "" }));
  }

  /** One memory, or null when it is absent, deleted, expired, another project's, or not the viewer's to see. */
  get(viewer: Viewer, id: MemoryId): Eventually<MemoryWithContent | null> {
    const memory = visibleMemory(this.#parts.memories, viewer, id);
    if (memory === null) return null;
    const content = this.#contents.get(memory);
    if (content !== null) return { memory, content };
    return this.withContents([memory]).then(([shown]) => shown ?? null);
  }

  /**
   * One page, newest first.
   * @throws Fault `invalid_cursor`; `insufficient_scope` when a confined viewer asks for another user's
   */
  async list(viewer: Viewer, listing: Omit<MemoryListing, "contentBytesMax">): Promise<Page<MemoryWithContent>> {
    const userId = userOf(viewer, listing.userId);
    const page = this.#parts.memories.list(viewer.projectId, {
      ...listing,
      ...(userId !== undefined && { userId }),
      contentBytesMax: LIMITS.pageContentBytes,
    });
    return { items: await this.withContents(page.items), cursor: page.cursor };
  }

  /**
   * Removes for good what was deleted with `purges`: vectors, postings and texts, then the rows. What fails or is left by a crash the
   * worker's sweep ends; never rejects for that. A publication of the same memory that is under way leaves nothing: its lease is void, or its
   * writes were ordered before these.
   */
  async purgeNow(projectId: ProjectId, keys: readonly MemoryKey[]): Promise<void> {
    const { index, memories, log } = this.#parts;
    try {
      const project = await index.project(projectId);
      await project.retract(keys);
      memories.markRetracted(keys);
      await index.purge(keys);
      memories.erase(keys);
    } catch (err) {
      log.warn({ err, memories: keys.length }, "deleted memories could not be purged yet; the sweep tries again");
    }
  }

  // A text that waits in its row is not kept: the row is quick to read.
  async #read(memories: readonly Memory[]): Promise<ReadonlyMap<MemoryKey, string>> {
    const waiting = this.#parts.memories.waitingContents(memories.map((memory) => memory.key));
    const published = memories.filter((memory) => !waiting.has(memory.key));
    if (published.length === 0) return waiting;
    const archived = await this.#parts.index.contents(published.map((memory) => memory.key));
    for (const memory of published) {
      const content = archived.get(memory.key);
      if (content !== undefined) this.#contents.put(memory, content);
    }
    return new Map([...waiting, ...archived]);
  }
}

/**
 * A viewer's changes. Each is one transaction, or part of the caller's; visibility and the worker follow when that is
 * durable, in the same turn: a search sees either the old row in full or none of it.
 */
export class MemoryDesk {
  readonly #viewer: Viewer;
  readonly #parts: MemoryServiceParts;
  readonly #index: ProjectIndex;
  readonly #contents: ContentCache;

  /** Use `MemoryService.open`. */
  constructor(viewer: Viewer, parts: MemoryServiceParts, index: ProjectIndex, contents: ContentCache) {
    this.#viewer = viewer;
    this.#parts = parts;
    this.#index = index;
    this.#contents = contents;
  }

  /** Stores drafts, in their order; a Fault stands where one was refused, see MemoryStore.accept. */
  create(drafts: readonly MemoryDraft[]): readonly (Accepted | Fault)[] {
    const owned = drafts.map((draft) => ownedDraft(this.#viewer, draft));
    return this.#parts.transactions.atomically(() => {
      const admitted = owned.filter((draft): draft is MemoryDraft => !(draft instanceof Fault));
      const results = this.#parts.memories.accept(this.#viewer.projectId, admitted).values();
      return owned.map((draft) => {
        const result = draft instanceof Fault ? draft : results.next().value;
        invariant(result, "every draft has an outcome");
        if (!(result instanceof Fault)) this.#follow(result);
        return result;
      });
    });
  }

  /**
   * Changes a memory; null: it is not there.
   * @throws Fault, see MemoryStore.change; `insufficient_scope` when a confined viewer would give it away
   */
  change(id: MemoryId, change: MemoryChange): Accepted | null {
    refuseGivingAway(this.#viewer, change.userId);
    return this.#parts.transactions.atomically(() => {
      if (visibleMemory(this.#parts.memories, this.#viewer, id) === null) return null;
      const accepted = this.#parts.memories.change(this.#viewer.projectId, id, change);
      if (accepted !== null) this.#follow(accepted);
      return accepted;
    });
  }

  /** A failed memory is tried again; null: it is not there. @throws Fault `invalid_state` for any other status */
  retry(id: MemoryId): Memory | null {
    return this.#parts.transactions.atomically(() => {
      if (visibleMemory(this.#parts.memories, this.#viewer, id) === null) return null;
      const memory = this.#parts.memories.retry(this.#viewer.projectId, id);
      if (memory !== null) this.#parts.transactions.afterCommit(this.#parts.wakeIngest);
      return memory;
    });
  }

  /**
   * Soft delete: out of every read and search once it is durable; null: it is not there. With `purges` the caller goes on
   * with `MemoryService.purgeNow` as soon as that is so.
   */
  remove(id: MemoryId, options: { readonly purges: boolean }): Memory | null {
    return this.#parts.transactions.atomically(() => {
      if (visibleMemory(this.#parts.memories, this.#viewer, id) === null) return null;
      const memory = this.#parts.memories.remove(this.#viewer.projectId, id, options);
      if (memory !== null) this.#hideAfterCommit([memory.key]);
      return memory;
    });
  }

  #follow({ memory, outcome }: Accepted): void {
    const { transactions, wakeIngest } = this.#parts;
    if (outcome === "updated" && memory.state.status === "completed") {
      const { key: memoryKey, userKey, expiresAt } = memory;
      const attributes = filteredAttributesJson(memory);
      transactions.afterCommit(() => this.#index.show([{ memoryKey, userKey, expiresAt, attributes }]));
    }
    if (outcome === "rewritten") this.#hideAfterCommit([memory.key]);
    if (outcome === "created") transactions.afterCommit(wakeIngest);
  }

  #hideAfterCommit(keys: readonly MemoryKey[]): void {
    this.#parts.transactions.afterCommit(() => {
      this.#index.hide(keys);
      for (const key of keys) this.#contents.forget(key);
      this.#parts.wakeIngest();
    });
  }
}

/** The memory with this id as the viewer may see it; null: it is not there, or not theirs. */
function visibleMemory(memories: MemoryStore, viewer: Viewer, id: MemoryId): Memory | null {
  const memory = memories.get(viewer.projectId, id);
  return memory === null || (viewer.userId !== null && memory.userId !== viewer.userId) ? null : memory;
}

/** A draft with the user that it is for; the Fault that userOf throws where the viewer cannot act for that one. */
function ownedDraft(viewer: Viewer, draft: MemoryDraft): MemoryDraft | Fault {
  try {
    const userId = userOf(viewer, draft.userId);
    return userId === undefined ? draft : { ...draft, userId };
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

function refuseGivingAway(viewer: Viewer, userId: string | null | undefined): void {
  if (userId !== null) userOf(viewer, userId);
  else if (viewer.userId !== null) {
    throw new Fault("insufficient_scope", "This key is confined to one user and cannot make a memory nobody's.", {
      param: "userId",
    });
  }
}
