// Caches memories that were read since the last change, so that their rows are not read again: a search reads its rows
// twice. Only the process that has locked the data directory changes memories, so it is enough to count the changes of
// this process.

import type { MemoryId, MemoryKey, ProjectId } from "../../domain/ids.ts";
import type { Memory } from "../../domain/memory.ts";
import type { Clock } from "../../kit/clock.ts";
import type { SqliteDatabase } from "./database.ts";

/** Maximum size of all cached memories in bytes, estimated: about 10,000 memories with little metadata. */
const BYTES_MAX = 16 * 1024 * 1024;
/** What a memory takes besides its metadata, in bytes. */
const MEMORY_BYTES = 1_600;

interface Known {
  readonly projectId: ProjectId;
  readonly memory: Memory;
}

/** Cache of memories, by project and id or key. Any committed change empties it. */
export class RecentMemories {
  readonly #byId = new Map<MemoryId, Known>();
  readonly #byKey = new Map<MemoryKey, Known>();
  #bytes = 0;
  #changesSeen = -1;

  constructor(
    private readonly database: Pick<SqliteDatabase, "changes" | "isInTransaction">,
    private readonly clock: Clock,
  ) {}

  /** Returns null if the memory was not read since the last change, or has expired. */
  get(projectId: ProjectId, id: MemoryId): Memory | null {
    return this.#isCurrent() ? this.#live(projectId, this.#byId.get(id)) : null;
  }

  /** Like `get`, for a key. */
  withKey(projectId: ProjectId, key: MemoryKey): Memory | null {
    return this.#isCurrent() ? this.#live(projectId, this.#byKey.get(key)) : null;
  }

  /**
   * Adds a memory that was read right after `get` or `withKey` returned null. Does nothing while a transaction is open,
   * because what was read may be rolled back.
   * @param metadataCharacters length of its metadata in JSON
   */
  put(projectId: ProjectId, memory: Memory, metadataCharacters: number): void {
    if (this.database.isInTransaction) return;
    if (this.#bytes >= BYTES_MAX) this.#clear();
    this.#bytes += MEMORY_BYTES + 4 * metadataCharacters;
    const known = { projectId, memory };
    this.#byId.set(memory.id, known);
    this.#byKey.set(memory.key, known);
  }

  /** Whether cached memories are as they are stored. Forgets them if anything changed. */
  #isCurrent(): boolean {
    if (this.database.isInTransaction) return false;
    const changes = this.database.changes.value;
    if (changes === this.#changesSeen) return true;
    this.#clear();
    this.#changesSeen = changes;
    return false;
  }

  #live(projectId: ProjectId, known: Known | undefined): Memory | null {
    if (known === undefined || known.projectId !== projectId) return null;
    const { memory } = known;
    return memory.expiresAt === null || memory.expiresAt > this.clock.now() ? memory : null;
  }

  #clear(): void {
    this.#byId.clear();
    this.#byKey.clear();
    this.#bytes = 0;
  }
}
