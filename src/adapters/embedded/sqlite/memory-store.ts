// The memories of mneme.sqlite as the port MemoryStore sees them: reads stand here, intake, jobs and retirement in the
// files named for them.

import { invariant } from "../../../domain/fault.ts";
import type { MemoryId, MemoryKey, ProjectId, UserKey } from "../../../domain/ids.ts";
import type { FailureCode, Memory, MemoryDraft, MemoryStatus } from "../../../domain/memory.ts";
import { decodeCursor, encodeCursor, type Page } from "../../../domain/page.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { VisibleMemory } from "../../../ports/chunk-index.ts";
import type { Accepted, Completion, Job, MemoryListing, MemoryStore } from "../../../ports/memory-store.ts";
import type { SqliteDatabase } from "./database.ts";
import { MemoryIntake } from "./memory-intake.ts";
import { MemoryJobs } from "./memory-jobs.ts";
import { MemoryRetirement } from "./memory-retirement.ts";
import { KEYS, keyList, LIVE, MEMORY_COLUMNS, type MemoryRow, PROJECT_KEY, toMemory } from "./memory-row.ts";
import { type RandomBytes, systemRandom } from "./random.ts";

/** MemoryStore on SQLite. */
export class SqliteMemoryStore implements MemoryStore {
  readonly #database: SqliteDatabase;
  readonly #clock: Clock;
  readonly #intake: MemoryIntake;
  readonly #jobs: MemoryJobs;
  readonly #retirement: MemoryRetirement;

  constructor(options: { readonly database: SqliteDatabase; readonly clock: Clock; readonly random?: RandomBytes }) {
    this.#database = options.database;
    this.#clock = options.clock;
    this.#intake = new MemoryIntake(options.database, options.clock, options.random ?? systemRandom);
    this.#jobs = new MemoryJobs(options.database, options.clock);
    this.#retirement = new MemoryRetirement(options.database, options.clock);
  }

  get(projectId: ProjectId, id: MemoryId): Memory | null {
    const row = this.#database
      .prepare<MemoryRow, { project: string; id: string; now: number }>(
        `SELECT ${MEMORY_COLUMNS} FROM memories WHERE id = $id AND project_key = ${PROJECT_KEY} AND ${LIVE}`,
      )
      .get({ project: projectId, id, now: this.#clock.now() });
    return row === null ? null : toMemory(row);
  }

  getMany(projectId: ProjectId, keys: readonly MemoryKey[]): ReadonlyMap<MemoryKey, Memory> {
    const rows = this.#database
      .prepare<MemoryRow, { project: string; keys: string; now: number }>(
        `SELECT ${MEMORY_COLUMNS} FROM memories
         WHERE memory_key IN ${KEYS} AND project_key = ${PROJECT_KEY} AND ${LIVE}`,
      )
      .all({ project: projectId, keys: keyList(keys), now: this.#clock.now() });
    return new Map(rows.map((row) => [row.memory_key as MemoryKey, toMemory(row)]));
  }

  waitingContents(keys: readonly MemoryKey[]): ReadonlyMap<MemoryKey, string> {
    const rows = this.#database
      .prepare<{ memory_key: bigint; content: string }, { keys: string; now: number }>(
        `SELECT memories.memory_key, content FROM memories JOIN waiting_contents USING (memory_key)
         WHERE memories.memory_key IN ${KEYS} AND ${LIVE}`,
      )
      .all({ keys: keyList(keys), now: this.#clock.now() });
    return new Map(rows.map((row) => [row.memory_key as MemoryKey, row.content]));
  }

  list(projectId: ProjectId, listing: MemoryListing): Page<Memory> {
    const { status = null, type = null, userId = null, limit } = listing;
    const binding = JSON.stringify(["memories", projectId, status, type, userId]);
    const before = listing.cursor === undefined ? null : decodeCursor(listing.cursor, binding);
    // one statement per combination, so that each finds the index made for it
    const conditions = [`memories.project_key = ${PROJECT_KEY}`, LIVE];
    if (status !== null) conditions.push("memories.status = $status");
    if (type !== null) conditions.push("memories.type = $type");
    if (userId !== null) {
      conditions.push(
        `memories.user_key = (SELECT user_key FROM users WHERE project_key = ${PROJECT_KEY} AND id = $userId)`,
      );
    }
    if (before !== null) conditions.push("memories.memory_key < $before");
    const rows = this.#database
      .prepare<MemoryRow, Record<string, string | bigint | number>>(
        `SELECT ${MEMORY_COLUMNS} FROM memories WHERE ${conditions.join(" AND ")}
         ORDER BY memories.memory_key DESC LIMIT $rows`,
      )
      .all({
        project: projectId,
        now: this.#clock.now(),
        // one more than asked for tells whether the page is the last
        rows: limit + 1,
        ...(status !== null && { status }),
        ...(type !== null && { type }),
        ...(userId !== null && { userId }),
        ...(before !== null && { before }),
      });
    const items = withinBytes(rows.slice(0, limit).map(toMemory), listing.contentBytesMax ?? Number.POSITIVE_INFINITY);
    const last = items.at(-1);
    return { items, cursor: rows.length > items.length && last !== undefined ? encodeCursor(last.key, binding) : null };
  }

  userKey(projectId: ProjectId, userId: string): UserKey | null {
    const user = this.#database
      .prepare<{ user_key: bigint }, { project: string; userId: string }>(
        `SELECT user_key FROM users WHERE project_key = ${PROJECT_KEY} AND id = $userId`,
      )
      .get({ project: projectId, userId });
    return user === null ? null : (user.user_key as UserKey);
  }

  visible(projectId: ProjectId): readonly VisibleMemory[] {
    return this.#database
      .prepare<
        { memory_key: bigint; user_key: bigint | null; expires_at: bigint | null },
        { project: string; now: number }
      >(
        `SELECT memory_key, user_key, expires_at FROM memories
         WHERE project_key = ${PROJECT_KEY} AND status = 'completed' AND ${LIVE} ORDER BY memory_key`,
      )
      .all({ project: projectId, now: this.#clock.now() })
      .map((row) => ({
        memoryKey: row.memory_key as MemoryKey,
        userKey: row.user_key as UserKey | null,
        expiresAt: row.expires_at === null ? null : Number(row.expires_at),
      }));
  }

  counts(): Readonly<Record<MemoryStatus, number>> {
    const counts: Record<MemoryStatus, number> = { processing: 0, completed: 0, failed: 0 };
    const rows = this.#database
      .prepare<{ status: MemoryStatus; memories: bigint }, { now: number }>(
        `SELECT status, count(*) AS memories FROM memories INDEXED BY memories_by_status WHERE ${LIVE} GROUP BY status`,
      )
      .all({ now: this.#clock.now() });
    for (const row of rows) counts[row.status] = Number(row.memories);
    return counts;
  }

  reserveChunkKeys(count: number): bigint {
    invariant(Number.isSafeInteger(count) && count >= 0, `${count} chunk keys were asked for`);
    const reserved = this.#database
      .prepare<{ first: bigint }, { count: number }>(
        "UPDATE sequences SET next = next + $count WHERE name = 'chunk_key' RETURNING next - $count AS first",
      )
      .get({ count });
    invariant(reserved !== null, "the counter of chunk keys is missing");
    return reserved.first;
  }

  accept(projectId: ProjectId, drafts: readonly MemoryDraft[]): readonly Accepted[] {
    return this.#intake.accept(projectId, drafts);
  }

  claim(options: { readonly jobs: number; readonly contentBytes: number; readonly leaseMs: number }): readonly Job[] {
    return this.#jobs.claim(options);
  }

  voidLeases(): void {
    this.#jobs.voidLeases();
  }

  renew(jobs: readonly Job[], leaseMs: number): readonly Job[] {
    return this.#jobs.renew(jobs, leaseMs);
  }

  complete(completions: readonly Completion[]): readonly VisibleMemory[] {
    return this.#jobs.complete(completions);
  }

  retryLater(job: Job, delayMs: number, isCounted?: boolean): void {
    this.#jobs.retryLater(job, delayMs, isCounted);
  }

  fail(job: Job, code: FailureCode, message: string): boolean {
    return this.#jobs.fail(job, code, message);
  }

  reopen(keys: readonly MemoryKey[]): void {
    this.#jobs.reopen(keys);
  }

  nextJobInMs(): number | null {
    return this.#jobs.nextJobInMs();
  }

  remove(projectId: ProjectId, id: MemoryId): Memory | null {
    return this.#retirement.remove(projectId, id);
  }

  retired(limit: number): readonly { readonly projectId: ProjectId; readonly memoryKey: MemoryKey }[] {
    return this.#retirement.retired(limit);
  }

  markRetracted(keys: readonly MemoryKey[]): void {
    this.#retirement.markRetracted(keys);
  }

  purgeable(beforeMs: number, limit: number): readonly MemoryKey[] {
    return this.#retirement.purgeable(beforeMs, limit);
  }

  erase(keys: readonly MemoryKey[]): void {
    this.#retirement.erase(keys);
  }
}

// A page ends before the texts of its memories exceed `bytes`, but holds one memory at least.
function withinBytes(memories: readonly Memory[], bytes: number): readonly Memory[] {
  let sum = 0;
  const end = memories.findIndex((memory, position) => {
    sum += memory.contentBytes;
    return position > 0 && sum > bytes;
  });
  return end === -1 ? memories : memories.slice(0, end);
}
