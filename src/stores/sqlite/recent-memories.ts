// A cache of memories that were read since the last change. It is useful because a search reads its rows twice. Only
// the process that has locked the data directory changes memories, so it is enough to count the changes of this
// process.

import type { MemoryId, MemoryKey, ProjectId } from "../../domain/ids.ts";
import type { Memory } from "../../domain/memory.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Eventually } from "../../kit/eventually.ts";
import type { MemoryReads, RowReads } from "../memories/reads.ts";
import { type MemoryRow, toMemory } from "../rows/memory.ts";

/** Maximum size of all kept memories in bytes, estimated: about 10,000 memories with little metadata. */
const BYTES_MAX = 16 * 1024 * 1024;
/** Estimated size of a memory without its metadata, in bytes. */
const MEMORY_BYTES = 1_600;

interface Known {
  readonly projectId: ProjectId;
  readonly memory: Memory;
}

/** Reads of committed memories. Any committed change empties what it keeps. */
export class RecentMemories implements MemoryReads {
  readonly #byId = new Map<MemoryId, Known>();
  readonly #byKey = new Map<MemoryKey, Known>();
  #bytes = 0;
  #changesSeen = -1;

  /** @param changes number of changes that were committed to the rows */
  constructor(
    private readonly rows: Pick<RowReads, "rowOf" | "rowsOf">,
    private readonly changes: { readonly value: number },
    private readonly clock: Clock,
  ) {}

  /** Returns a plain value if the memory was read since the last change. */
  get(projectId: ProjectId, id: MemoryId): Eventually<Memory | null> {
    this.#forgetIfChanged();
    return this.#live(projectId, this.#byId.get(id)) ?? this.#read(projectId, id);
  }

  async getMany(projectId: ProjectId, keys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, Memory>> {
    this.#forgetIfChanged();
    const found = new Map<MemoryKey, Memory>();
    const unread: MemoryKey[] = [];
    for (const key of keys) {
      const known = this.#live(projectId, this.#byKey.get(key));
      if (known === null) unread.push(key);
      else found.set(key, known);
    }
    if (unread.length === 0) return found;
    const changes = this.changes.value;
    for (const row of await this.rows.rowsOf(projectId, unread)) {
      found.set(row.memory_key as MemoryKey, this.#kept(projectId, row, changes));
    }
    return found;
  }

  async #read(projectId: ProjectId, id: MemoryId): Promise<Memory | null> {
    const changes = this.changes.value;
    const row = await this.rows.rowOf(projectId, id);
    return row === null ? null : this.#kept(projectId, row, changes);
  }

  /** Keeps a memory, unless something has changed since the count was `changes`. */
  #kept(projectId: ProjectId, row: MemoryRow, changes: number): Memory {
    const memory = toMemory(row);
    if (this.changes.value !== changes || this.#changesSeen !== changes) return memory;
    if (this.#bytes >= BYTES_MAX) this.#forget();
    this.#bytes += MEMORY_BYTES + 4 * (row.metadata?.length ?? 0);
    const known = { projectId, memory };
    this.#byId.set(memory.id, known);
    this.#byKey.set(memory.key, known);
    return memory;
  }

  #live(projectId: ProjectId, known: Known | undefined): Memory | null {
    if (known === undefined || known.projectId !== projectId) return null;
    const { memory } = known;
    return memory.expiresAt === null || memory.expiresAt > this.clock.now() ? memory : null;
  }

  #forgetIfChanged(): void {
    if (this.changes.value === this.#changesSeen) return;
    this.#forget();
    this.#changesSeen = this.changes.value;
  }

  #forget(): void {
    this.#byId.clear();
    this.#byKey.clear();
    this.#bytes = 0;
  }
}
