// The history of memories, and memories as they were at an earlier time (`knownAt`): with their texts and relations of
// that time, and all other attributes as today.

import { Fault } from "../domain/fault.ts";
import type { HistoryEntry } from "../domain/history.ts";
import type { MemoryId, MemoryKey, ProjectId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Memory } from "../domain/memory.ts";
import type { Page } from "../domain/page.ts";
import type { Relation } from "../domain/relation.ts";
import { type Viewer, withinViewer } from "../domain/scope.ts";
import { type Clock, isoTime } from "../kit/clock.ts";
import type { PublishedMemories } from "../ports/chunk-index.ts";
import type { HistoryListing, HistoryStore, TextThen } from "../ports/history-store.ts";
import type { MemoryListing, MemoryStore } from "../ports/memory-store.ts";
import type { RelationStore } from "../ports/relation-store.ts";
import type { Transaction } from "../ports/transactions.ts";
import { type MemoryService, type MemoryWithContent, visibleMemory } from "./memories.ts";

/** What the service needs. */
export interface HistoryServiceDependencies {
  readonly history: Pick<HistoryStore, "entries" | "horizon" | "textsAt" | "archived">;
  readonly relations: Pick<RelationStore, "of" | "supersededAt">;
  readonly rows: Pick<MemoryStore, "get" | "list">;
  readonly memories: Pick<MemoryService, "withContents">;
  readonly index: Pick<PublishedMemories, "contents" | "eraseReplaced">;
  readonly clock: Clock;
}

/** A memory and its relations at an earlier time. */
export interface MemoryThen extends MemoryWithContent {
  readonly relations: readonly Relation[];
}

/** Earlier states of the memories of one project. Memories of users that a viewer may not see are treated as absent. */
export class HistoryService {
  constructor(private readonly uses: HistoryServiceDependencies) {}

  /**
   * Texts and relations of a memory, newest first; null if it does not exist for this viewer.
   * @throws Fault `invalid_cursor`
   */
  async page(
    viewer: Viewer,
    id: MemoryId,
    listing: Omit<HistoryListing, "contentBytesMax">,
  ): Promise<Page<HistoryEntry> | null> {
    const { history, rows } = this.uses;
    const memory = await visibleMemory(rows, viewer, id);
    if (memory === null) return null;
    const limits = { ...listing, contentBytesMax: LIMITS.pageContentBytes };
    const page = await history.entries(viewer.projectId, memory.key, limits);
    const items: HistoryEntry[] = [];
    for (const entry of page.items) {
      if (entry.kind === "relation") items.push(entry);
      else if (entry.content !== null) items.push({ ...entry, content: entry.content });
      else if (entry.until === null) items.push({ ...entry, content: await this.#current(viewer.projectId, memory) });
      else {
        const content = await this.#archived(memory.key);
        if (content === null) return this.page(viewer, id, listing); // the history has just stored it, or it was erased
        items.push({ ...entry, content });
      }
    }
    return { items, cursor: page.cursor };
  }

  /** Erases the earlier texts of a memory for good. Returns false if it does not exist for this viewer. */
  async erase(transaction: Transaction, viewer: Viewer, id: MemoryId): Promise<boolean> {
    const memory = await visibleMemory(transaction.memories, viewer, id);
    if (memory === null) return false;
    await transaction.history.erase(viewer.projectId, memory.key);
    // also erases from the text archive what was replaced before
    transaction.afterCommit(() => this.uses.index.eraseReplaced());
    return true;
  }

  /**
   * A memory as it was at `at`; null if it does not exist for this viewer, was accepted later, or its text of that time
   * is not kept.
   * @throws Fault `invalid_request` as `refuseOutsideHistory`
   */
  async get(viewer: Viewer, id: MemoryId, at: number): Promise<MemoryThen | null> {
    await refuseOutsideHistory(this.uses, viewer.projectId, at);
    const memory = await visibleMemory(this.uses.rows, viewer, id);
    if (memory === null) return null;
    const [then] = await this.#then(viewer.projectId, [memory], at);
    if (then === undefined) return null;
    return { ...then, relations: await this.uses.relations.of(viewer.projectId, memory.key, at) };
  }

  /**
   * One page of the memories that were accepted by `knownAt`, as they were then, in the order that the listing names.
   * @throws Fault `invalid_request` as `refuseOutsideHistory`; `invalid_cursor`; `insufficient_scope` if a confined
   *   viewer asks for another user's memories
   */
  async list(
    viewer: Viewer,
    listing: Omit<MemoryListing, "contentBytesMax"> & { readonly knownAt: number },
  ): Promise<Page<MemoryWithContent>> {
    const { projectId } = viewer;
    await refuseOutsideHistory(this.uses, projectId, listing.knownAt);
    const page = await this.uses.rows.list(projectId, {
      ...withinViewer(viewer, listing),
      contentBytesMax: LIMITS.pageContentBytes,
    });
    return { items: await this.#then(projectId, page.items, listing.knownAt), cursor: page.cursor };
  }

  /** Memories as they were at `at`, without those that had no text then. */
  async #then(projectId: ProjectId, memories: readonly Memory[], at: number): Promise<readonly MemoryWithContent[]> {
    const keys = memories.map(({ key }) => key);
    const texts = await this.uses.history.textsAt(projectId, keys, at);
    const superseded = await this.uses.relations.supersededAt(projectId, keys, { knownAt: at });
    const unchanged = memories.filter(({ key }) => !texts.has(key));
    const current = await this.uses.memories.withContents(projectId, unchanged);
    const shown = new Map(current.map((each) => [each.memory.key, each]));
    for (const memory of memories) {
      const text = texts.get(memory.key);
      if (text === undefined || text === null) continue;
      const content = await this.#textOf(projectId, memory.key, text, at);
      if (content !== null) shown.set(memory.key, { memory, content });
    }
    return memories.flatMap(({ key }) => {
      const found = shown.get(key);
      return found === undefined ? [] : { ...found, memory: { ...found.memory, ...superseded.get(key) } };
    });
  }

  async #textOf(projectId: ProjectId, key: MemoryKey, { content }: TextThen, at: number): Promise<string | null> {
    if (content !== null) return content;
    const archived = await this.#archived(key);
    if (archived !== null) return archived;
    const again = (await this.uses.history.textsAt(projectId, [key], at)).get(key);
    return again?.content ?? null; // the history has just stored it, or it was erased
  }

  async #current(projectId: ProjectId, memory: Memory): Promise<string> {
    return (await this.uses.memories.withContents(projectId, [memory]))[0]?.content ?? "";
  }

  /** The earlier text that only the archive has; null if it has another one by now. */
  async #archived(key: MemoryKey): Promise<string | null> {
    const text = (await this.uses.index.contents([key])).get(key);
    // the text is stored before another one replaces it in the archive, so what was read is the earlier one
    const isArchived = (await this.uses.history.archived([key])).get(key)?.isWanted === true;
    return isArchived ? (text?.content ?? null) : null;
  }
}

/** @throws Fault `invalid_request` if `at` lies in the future, or before the project's `HistoryStore.horizon` */
export async function refuseOutsideHistory(
  { history, clock }: { readonly history: Pick<HistoryStore, "horizon">; readonly clock: Clock },
  projectId: ProjectId,
  at: number,
): Promise<void> {
  const now = clock.now();
  const horizon = await history.horizon(projectId);
  if (at >= horizon && at <= now) return;
  throw new Fault(
    "invalid_request",
    `'knownAt' must be from ${isoTime(horizon)}, since when all states are known, to now, ${isoTime(now)}. The project keeps earlier states for its \`retention_days\`.`,
    { param: "knownAt" },
  );
}
