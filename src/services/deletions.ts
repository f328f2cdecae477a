// Deletions by conditions: counts what matches, begins a deletion, and continues deletions in the background, even
// after a restart. A step is one transaction, which deletes the matching memories of one page of the list and stores
// the cursor of the next page, or of the same page if containers in it have too many parts. So each step happens
// exactly once, even if the server is killed. A container and its parts are deleted in the same step.

import type { Deletion, DeletionConditions } from "../domain/deletion.ts";
import { Fault, invariant } from "../domain/fault.ts";
import { matchesFilter, parseFilter } from "../domain/filter.ts";
import type { DeletionId, MemoryKey, ProjectId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Memory } from "../domain/memory.ts";
import { type Viewer, withinViewer } from "../domain/scope.ts";
import type { Clock } from "../kit/clock.ts";
import { counted } from "../kit/counted.ts";
import type { Log } from "../kit/log.ts";
import { shortened } from "../kit/shortened.ts";
import type { PublishedMemories } from "../ports/chunk-index.ts";
import type { DeletionStore } from "../ports/deletion-store.ts";
import type { MemoryStore } from "../ports/memory-store.ts";
import type { Transaction, Transactions } from "../ports/transactions.ts";
import { hideAfterCommit } from "./memories.ts";
import { countMatching } from "./memory-counts.ts";

/**
 * Number of memories that one step looks at: it takes about 10 ms if it deletes them all. After as many deletions,
 * parts included, it begins no further container. So at most one container with its parts (at most 1,000) exceeds this.
 */
const STEP_MEMORIES = 200;
/** Pause between two steps in milliseconds, so that requests run between them. */
const REST_MS = 5;
/** Maximum number of deletions that take turns. The others wait until one of these has ended. */
const TURNS = 8;
/** Maximum time in milliseconds until another node continues the deletion of a node that has stopped. */
const POLL_MS = 10_000;
/** Maximum number of attempts of one step, and the first pause in milliseconds. Each later pause is twice as long. */
const ATTEMPTS_MAX = 6;
const PAUSE_FIRST_MS = 500;
/** How long a deletion that has ended can be read, in milliseconds. */
const KEPT_MS = 7 * 24 * 60 * 60 * 1000;

/** What the service needs. */
export interface DeletionServiceDependencies {
  readonly memories: Pick<MemoryStore, "list">;
  readonly deletions: Pick<DeletionStore, "get" | "open" | "openOf" | "fail" | "prune">;
  readonly transactions: Transactions;
  readonly index: Pick<PublishedMemories, "hide">;
  readonly wakeIngest: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** Deletions of all projects. */
export class DeletionService {
  readonly #uses: DeletionServiceDependencies;
  readonly #stop = new AbortController();
  /** Failed attempts in a row, and when the next one is due in Unix milliseconds, by deletion. */
  readonly #failures = new Map<DeletionId, { readonly count: number; readonly dueAt: number }>();
  #wake = new AbortController();
  #running: Promise<void> | null = null;

  constructor(uses: DeletionServiceDependencies) {
    this.#uses = uses;
  }

  /** Starts to continue the deletions in progress. */
  start(): void {
    this.#running ??= this.#loop();
  }

  /** Stops after the current step. The next start continues. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wake.abort();
    await this.#running;
  }

  /**
   * Number of memories that a deletion with these conditions would delete now, in any status. Cost: reads the rows of
   * all memories in the scope; other work runs between two pages.
   * @throws Fault `invalid_filter`; `insufficient_scope` if a confined viewer names another user
   */
  async count(viewer: Viewer, asked: DeletionConditions, signal: AbortSignal): Promise<number> {
    const { filters, ...conditions } = withinViewer(viewer, asked);
    const filter = filters === undefined ? null : parseFilter(filters);
    return countMatching(this.#uses.memories, viewer.projectId, { conditions, filter, signal });
  }

  /**
   * Begins a deletion, and does its first step, which looks at up to 200 memories of the scope. So a small deletion is
   * complete when the transaction is.
   * @param matched number of memories that match, from `count`
   * @param isExact refuses a deletion that is complete after its first step but did not delete `matched` memories
   * @throws Fault `overloaded` if the project has too many deletions in progress; `invalid_state` because of `isExact`
   */
  async begin(
    transaction: Transaction,
    viewer: Viewer,
    asked: DeletionConditions,
    { matched, isExact }: { readonly matched: number; readonly isExact: boolean },
  ): Promise<Deletion> {
    const { deletions } = transaction;
    const { projectId } = viewer;
    if ((await deletions.openOf(projectId)) >= LIMITS.deletionsInProgress) {
      const message = `${LIMITS.deletionsInProgress} deletions of this project are in progress. Wait until one has ended.`;
      throw new Fault("overloaded", message, { retryAfterSeconds: 5 });
    }
    const made = await deletions.create(projectId, { conditions: withinViewer(viewer, asked), matched });
    const begun =
      matched === 0
        ? {
            deletion: await deletions.advance(projectId, made.id, { deleted: 0, cursor: null, isLast: true }),
            matching: 0,
          }
        : await this.#step(transaction, projectId, made.id);
    invariant(begun?.deletion, "a deletion that was just created is in progress");
    const { deletion, matching } = begun;
    if (isExact && deletion.status === "completed" && matching !== matched) throw otherNumber(matched, matching);
    if (deletion.status === "processing") transaction.afterCommit(() => this.#wake.abort());
    return deletion;
  }

  /** @throws Fault `job_not_found`, also for a deletion that is not limited to the user of a confined viewer */
  async get(viewer: Viewer, id: DeletionId): Promise<Deletion> {
    const deletion = await this.#uses.deletions.get(viewer.projectId, id);
    if (deletion === null || (viewer.userId !== null && deletion.userId !== viewer.userId)) {
      throw new Fault("job_not_found", `There is no job '${shortened(id)}' in this project.`, { param: "id" });
    }
    return deletion;
  }

  /** Removes deletions that ended long ago. */
  async prune(): Promise<void> {
    await this.#uses.deletions.prune(this.#uses.clock.now() - KEPT_MS);
  }

  async #loop(): Promise<void> {
    const { deletions, clock, log } = this.#uses;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      this.#wake = new AbortController();
      let waitMs = POLL_MS;
      try {
        for (const { projectId, id } of await deletions.open(TURNS)) {
          if (signal.aborted) return;
          waitMs = Math.min(waitMs, await this.#advance(projectId, id));
        }
      } catch (err) {
        log.error({ err }, "deletions in progress could not be read; trying again");
      }
      if (!signal.aborted) await clock.sleep(waitMs, this.#wake.signal);
    }
  }

  /** Does one step. Returns the time until the next one, in milliseconds. */
  async #advance(projectId: ProjectId, id: DeletionId): Promise<number> {
    const { transactions, deletions, clock, log } = this.#uses;
    const failed = this.#failures.get(id) ?? { count: 0, dueAt: 0 };
    const pauseMs = failed.dueAt - clock.now();
    if (pauseMs > 0) return pauseMs;
    try {
      await transactions.run((transaction) => this.#step(transaction, projectId, id));
      this.#failures.delete(id);
      return REST_MS;
    } catch (err) {
      const count = failed.count + 1;
      log.warn({ err, deletion: id, failures: count }, "a step of a deletion failed");
      if (count < ATTEMPTS_MAX) {
        const waitMs = PAUSE_FIRST_MS * 2 ** failed.count;
        this.#failures.set(id, { count, dueAt: clock.now() + waitMs });
        return waitMs;
      }
      await deletions.fail(projectId, id, "The store failed again and again. What was deleted stays deleted.");
      this.#failures.delete(id);
      return REST_MS;
    }
  }

  /**
   * Deletes matching memories of one page. Returns the deletion, and how many deleted memories match: parts of a
   * container may not match themselves. Returns null if the deletion has ended.
   */
  async #step(
    transaction: Transaction,
    projectId: ProjectId,
    id: DeletionId,
  ): Promise<{ readonly deletion: Deletion | null; readonly matching: number } | null> {
    const { memories, deletions } = transaction;
    const work = await deletions.work(projectId, id);
    if (work === null) return null;
    const page = await memories.list(projectId, listingOf(work.conditions, work.cursor));
    const matching = page.items.filter(matcherOf(work.conditions));
    const removed = new Set<MemoryKey>();
    let isWhole = true;
    for (const group of await groupsOf(memories, projectId, matching)) {
      isWhole = removed.size < STEP_MEMORIES;
      if (!isWhole) break;
      for (const key of await memories.removeMany(projectId, group)) removed.add(key);
    }
    if (removed.size > 0) {
      hideAfterCommit(transaction, this.#uses.index, projectId, [...removed]);
      transaction.afterCommit(this.#uses.wakeIngest);
    }
    const next = isWhole
      ? { cursor: page.cursor, isLast: page.cursor === null }
      : { cursor: work.cursor, isLast: false };
    const deletion = await deletions.advance(projectId, id, { deleted: removed.size, ...next });
    return { deletion, matching: matching.filter(({ key }) => removed.has(key)).length };
  }
}

/** The keys of memories in groups that are deleted at once: containers that have parts alone, the others together. */
async function groupsOf(
  memories: Pick<MemoryStore, "partCounts">,
  projectId: ProjectId,
  deleted: readonly Memory[],
): Promise<readonly (readonly MemoryKey[])[]> {
  const ids = deleted.map(({ id }) => id); // not only those of containers: the parts of an earlier content may be left
  const counts = await memories.partCounts(projectId, ids);
  const [withParts, others] = [deleted.filter(({ id }) => counts.has(id)), deleted.filter(({ id }) => !counts.has(id))];
  return [...(others.length === 0 ? [] : [others.map(({ key }) => key)]), ...withParts.map(({ key }) => [key])];
}

/** The Fault if another number of memories matches than the caller expects. */
export function otherNumber(expected: number, matched: number): Fault {
  return new Fault(
    "invalid_state",
    `${counted(matched, "memory matches", "memories match")} now, not ${expected}. Nothing was deleted: look again with dryRun.`,
    { param: "matched" },
  );
}

function matcherOf({ filters }: DeletionConditions): (memory: Memory) => boolean {
  if (filters === undefined) return () => true;
  const filter = parseFilter(filters);
  return (memory) => matchesFilter(filter, memory);
}

function listingOf({ filters: _, ...scope }: DeletionConditions, cursor: string | null) {
  return { ...scope, limit: STEP_MEMORIES, ...(cursor !== null && { cursor }) };
}
