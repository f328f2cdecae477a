// Implements MemoryStore. Reads by id or key are in reads.ts; lists, intake, changes and deletion are in files of their
// own.

import type { PartCounts } from "../../domain/containers.ts";
import type { Fault } from "../../domain/fault.ts";
import type { MemoryId, MemoryKey, ProjectId, UserKey } from "../../domain/ids.ts";
import type { Memory, MemoryChange, MemoryDraft, MemoryStatus, ReceivedFile } from "../../domain/memory.ts";
import type { Page } from "../../domain/page.ts";
import type { Eventually } from "../../kit/eventually.ts";
import type { VisibleMemory } from "../../ports/chunk-index.ts";
import type {
  Accepted,
  ContainerPart,
  CountedPart,
  MemoryConditions,
  MemoryListing,
  MemoryStore,
  RemovedMemory,
} from "../../ports/memory-store.ts";
import type { TextFile } from "../../ports/upload-files.ts";
import type { StoreContext } from "../context.ts";
import type { Dialect } from "../dialect.ts";
import { fingerprintOfFile } from "../rows/memory-file.ts";
import { LIVE, OPEN_PROJECT, VISIBLE_COLUMNS } from "../rows/sql.ts";
import { type VisibleRow, visibleOf } from "../rows/visible.ts";
import type { Session } from "../session.ts";
import { userKeyOf } from "../user-rows.ts";
import { MemoryChanges } from "./memory-change.ts";
import { MemoryDeletion } from "./memory-deletion.ts";
import { MemoryIntake } from "./memory-intake.ts";
import { MemoryLists } from "./memory-list.ts";
import { MemoryParts } from "./memory-parts.ts";
import type { MemoryReads } from "./reads.ts";

const CONTENTS = ({ isIn }: Dialect) => `SELECT memories.memory_key, content
  FROM memories JOIN waiting_contents USING (memory_key) WHERE memories.memory_key ${isIn("keys")} AND ${LIVE}`;
// a long text that is kept in a file has no media type
const TEXT_FILES = ({ isIn, keptFile, mediaType, toHex }: Dialect) => `SELECT memory_key, ${keptFile} AS name,
    ${toHex("content_sha256")} AS sha256
  FROM memories WHERE memory_key ${isIn("keys")} AND ${keptFile} IS NOT NULL AND ${mediaType} IS NULL AND ${LIVE}`;
const VISIBLE = ({ indexedBy }: Dialect) => `SELECT ${VISIBLE_COLUMNS}
  FROM memories ${indexedBy("memories_by_status")}
  WHERE project_key = ${OPEN_PROJECT} AND status = 'completed' AND ${LIVE} AND memory_key > $afterKey
  ORDER BY memory_key LIMIT $limit`;
const MADE_FROM = `SELECT 1 AS found FROM memories
  WHERE id = $id AND project_key = ${OPEN_PROJECT} AND ${LIVE} AND content_sha256 = $sha256`;
const UNREFERENCED = ({ elements, keptFile }: Dialect) => `SELECT given.value AS name FROM ${elements("names", "text")}
  WHERE NOT EXISTS (SELECT 1 FROM memories WHERE ${keptFile} = given.value AND ${keptFile} IS NOT NULL)
    AND NOT EXISTS (SELECT 1 FROM memories WHERE original_file = given.value AND original_file IS NOT NULL)`;
// groups by project first, which is the order of the index: without a sort, SQLite takes a third of the time
const COUNTS = ({ indexedBy }: Dialect) => `SELECT status, CAST(sum(memories) AS bigint) AS memories FROM (
    SELECT status, count(*) AS memories FROM memories ${indexedBy("memories_by_status")}
    WHERE ${LIVE} GROUP BY project_key, status
  ) AS counted GROUP BY status`;

/** Maximum number of file names per statement. Many thousand names in one parameter would take megabytes. */
const STEP_FILES = 500;

/** Memories. */
export class StoredMemories implements MemoryStore {
  readonly #reads: MemoryReads;
  readonly #lists: MemoryLists;
  readonly #changes: MemoryChanges;
  readonly #intake: MemoryIntake;
  readonly #deletion: MemoryDeletion;
  readonly #parts: MemoryParts;

  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
  ) {
    this.#reads = context.engine.memoryReads(session, context.clock);
    this.#lists = new MemoryLists(session, context);
    this.#changes = new MemoryChanges(session, context);
    this.#intake = new MemoryIntake(session, context, this.#changes);
    this.#deletion = new MemoryDeletion(session, context);
    this.#parts = new MemoryParts(session, context);
  }

  get(projectId: ProjectId, id: MemoryId): Eventually<Memory | null> {
    return this.#reads.get(projectId, id);
  }

  getMany(projectId: ProjectId, keys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, Memory>> {
    return this.#reads.getMany(projectId, keys);
  }

  async waitingContents(keys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, string>> {
    if (keys.length === 0) return new Map();
    const params = { keys, now: this.#now };
    const rows = await this.session.all<{ memory_key: bigint; content: string }>(CONTENTS, params);
    return new Map(rows.map((row) => [row.memory_key as MemoryKey, row.content]));
  }

  async waitingTextFiles(keys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, TextFile>> {
    if (keys.length === 0) return new Map();
    const params = { keys, now: this.#now };
    const rows = await this.session.all<TextFile & { memory_key: bigint }>(TEXT_FILES, params);
    return new Map(rows.map(({ memory_key, name, sha256 }) => [memory_key as MemoryKey, { name, sha256 }]));
  }

  async isMadeFrom(projectId: ProjectId, id: MemoryId, upload: ReceivedFile): Promise<boolean> {
    const sha256 = fingerprintOfFile(upload).contentSha256;
    return (await this.session.get(MADE_FROM, { project: projectId, id, now: this.#now, sha256 })) !== null;
  }

  list(projectId: ProjectId, listing: MemoryListing): Promise<Page<Memory>> {
    return this.#lists.page(projectId, listing);
  }

  countFrom(
    projectId: ProjectId,
    conditions: MemoryConditions,
    part: { readonly before: MemoryKey | null; readonly limit: number },
  ): Promise<CountedPart> {
    return this.#lists.countFrom(projectId, conditions, part);
  }

  partsOf(projectId: ProjectId, container: MemoryId): Promise<readonly ContainerPart[]> {
    return this.#parts.of(projectId, container);
  }

  partCounts(projectId: ProjectId, containers: readonly MemoryId[]): Promise<ReadonlyMap<string, PartCounts>> {
    return this.#parts.counts(projectId, containers);
  }

  userKey(projectId: ProjectId, userId: string): Promise<UserKey | null> {
    return userKeyOf(this.session, projectId, userId);
  }

  async visible(
    projectId: ProjectId,
    { afterKey, limit }: { readonly afterKey: MemoryKey | null; readonly limit: number },
  ): Promise<readonly VisibleMemory[]> {
    const params = { project: projectId, now: this.#now, afterKey: afterKey ?? 0n, limit };
    return (await this.session.all<VisibleRow>(VISIBLE, params)).map(visibleOf);
  }

  async counts(): Promise<Readonly<Record<MemoryStatus, number>>> {
    const counts: Record<MemoryStatus, number> = { processing: 0, completed: 0, failed: 0 };
    const rows = await this.session.all<{ status: MemoryStatus; memories: bigint }>(COUNTS, { now: this.#now });
    for (const row of rows) counts[row.status] = Number(row.memories);
    return counts;
  }

  accept(projectId: ProjectId, drafts: readonly MemoryDraft[]): Promise<readonly (Accepted | Fault)[]> {
    return this.#intake.accept(projectId, drafts);
  }

  change(projectId: ProjectId, id: MemoryId, change: MemoryChange): Promise<Accepted | null> {
    return this.#changes.change(projectId, id, change);
  }

  retry(projectId: ProjectId, id: MemoryId): Promise<Memory | null> {
    return this.#changes.retry(projectId, id);
  }

  retryFailed(projectId: ProjectId, failed: { readonly userId?: string; readonly limit: number }): Promise<number> {
    return this.#changes.retryFailed(projectId, failed);
  }

  remove(projectId: ProjectId, id: MemoryId, options = { purges: false }): Promise<RemovedMemory | null> {
    return this.#deletion.remove(projectId, id, options);
  }

  removeMany(projectId: ProjectId, keys: readonly MemoryKey[]): Promise<readonly MemoryKey[]> {
    return this.#deletion.removeMany(projectId, keys);
  }

  removeAllOf(projectId: ProjectId, userId: string): Promise<readonly MemoryKey[]> {
    return this.#deletion.removeAllOf(projectId, userId);
  }

  async unreferencedFiles(files: readonly string[]): Promise<readonly string[]> {
    const unreferenced: string[] = [];
    for (let first = 0; first < files.length; first += STEP_FILES) {
      const names = files.slice(first, first + STEP_FILES);
      const rows = await this.session.all<{ name: string }>(UNREFERENCED, { names });
      unreferenced.push(...rows.map(({ name }) => name));
    }
    return unreferenced;
  }

  get #now(): number {
    return this.context.clock.now();
  }
}
