// Soft deletion. No method returns a deleted memory, but its row stays until its index entries and texts are removed
// (retirement-store.ts).

import { mayContainFiles } from "../../domain/containers.ts";
import type { MemoryId, MemoryKey, ProjectId } from "../../domain/ids.ts";
import type { RemovedMemory } from "../../ports/memory-store.ts";
import type { StoreContext } from "../context.ts";
import type { Dialect } from "../dialect.ts";
import { Outbox } from "../outbox.ts";
import { RelationRows } from "../relations/relation-rows.ts";
import { type MemoryRow, storedSource, toMemory } from "../rows/memory.ts";
import { LIVE, MEMORY_COLUMNS, OPEN_PROJECT } from "../rows/sql.ts";
import type { Session } from "../session.ts";
import { USER_KEY } from "../user-rows.ts";
import { IN_CONTAINERS } from "./memory-parts.ts";

/** Maximum number of memories that are deleted without a pause for other requests: about 12 ms on SQLite. */
const STEP_MEMORIES = 200;

const REMOVE = `UPDATE memories SET deleted_at = $now, lease = NULL, is_purge_asked = $isPurgeAsked
  WHERE id = $id AND project_key = ${OPEN_PROJECT} AND ${LIVE} RETURNING ${MEMORY_COLUMNS}`;

const KEYS_OF_USER = ({ indexedBy }: Dialect) => `SELECT memory_key FROM memories ${indexedBy("memories_by_user")}
  WHERE user_key = ${USER_KEY} AND project_key = ${OPEN_PROJECT} AND ${LIVE} ORDER BY memory_key`;

// the unary plus keeps SQLite from using an index on project_key instead of the keys
const REMOVE_MANY = ({ isIn }: Dialect) => `UPDATE memories
  SET deleted_at = $now, lease = NULL, is_purge_asked = $isPurgeAsked
  WHERE memory_key ${isIn("keys")} AND +project_key = ${OPEN_PROJECT} AND ${LIVE} RETURNING ${MEMORY_COLUMNS}`;

const KEYS_OF_PARTS = (dialect: Dialect) => `SELECT memory_key
  FROM memories ${dialect.indexedBy("memories_by_container")}
  WHERE ${IN_CONTAINERS(dialect)} AND ${LIVE} ORDER BY memory_key`;

/** Maximum depth of files in a file: a file in an archive, and a file in that file. */
const CONTAINER_DEPTH_MAX = 2;

type KeyRow = Pick<MemoryRow, "memory_key">;

function keysOf(rows: readonly KeyRow[]): readonly MemoryKey[] {
  return rows.map(({ memory_key }) => memory_key as MemoryKey);
}

/** Whether the memory is made from a file that can contain others, or an earlier content of it may have been. */
function mayHaveParts(row: MemoryRow): boolean {
  const source = storedSource(row);
  return row.version > 1n || (source !== null && mayContainFiles(source.media_type));
}

/** Deletes memories softly and records an event for each. */
export class MemoryDeletion {
  readonly #outbox: Outbox;
  readonly #relations: RelationRows;

  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
  ) {
    this.#outbox = new Outbox(session, context);
    this.#relations = new RelationRows(session, context);
  }

  /** See MemoryStore.remove. */
  async remove(
    projectId: ProjectId,
    id: MemoryId,
    { purges }: { readonly purges: boolean },
  ): Promise<RemovedMemory | null> {
    const params = { project: projectId, id, now: this.context.clock.now(), isPurgeAsked: Number(purges) };
    const row = await this.session.get<MemoryRow>(REMOVE, params);
    if (row === null) return null;
    const memory = toMemory(row);
    await this.#outbox.record(row.project_key, "memory.deleted", [memory]);
    await this.#relations.removeAllOf([row]);
    return { memory, keys: [memory.key, ...(await this.#removePartsOf(projectId, [row], purges))] };
  }

  /** See MemoryStore.removeAllOf. */
  async removeAllOf(projectId: ProjectId, userId: string): Promise<readonly MemoryKey[]> {
    const now = this.context.clock.now();
    const found = await this.session.all<KeyRow>(KEYS_OF_USER, { project: projectId, userId, now });
    return this.removeMany(projectId, keysOf(found));
  }

  /** See MemoryStore.removeMany. */
  async removeMany(projectId: ProjectId, keys: readonly MemoryKey[]): Promise<readonly MemoryKey[]> {
    return this.#removeKeys(projectId, keys, { purges: false, depth: 0 });
  }

  /**
   * Removes memories and, down to a depth of `CONTAINER_DEPTH_MAX`, those of the files in their files. Returns the keys
   * of all.
   */
  async #removeKeys(
    projectId: ProjectId,
    keys: readonly MemoryKey[],
    { purges, depth }: { readonly purges: boolean; readonly depth: number },
  ): Promise<readonly MemoryKey[]> {
    const removed: MemoryKey[] = [];
    for (let first = 0; first < keys.length; first += STEP_MEMORIES) {
      if (first > 0) await new Promise(setImmediate); // lets other requests run
      const params = {
        project: projectId,
        keys: keys.slice(first, first + STEP_MEMORIES),
        isPurgeAsked: Number(purges),
      };
      const rows = await this.session.all<MemoryRow>(REMOVE_MANY, { ...params, now: this.context.clock.now() });
      const inOrder = rows.toSorted((a, b) => (a.memory_key < b.memory_key ? -1 : 1));
      const [oldest] = inOrder;
      if (oldest === undefined) continue;
      await this.#outbox.record(oldest.project_key, "memory.deleted", inOrder.map(toMemory));
      await this.#relations.removeAllOf(inOrder);
      removed.push(...keysOf(inOrder), ...(await this.#removePartsOf(projectId, inOrder, purges, depth)));
    }
    return removed;
  }

  /** Removes the memories of the files in the files of deleted memories. Returns their keys. */
  async #removePartsOf(
    projectId: ProjectId,
    rows: readonly MemoryRow[],
    purges: boolean,
    depth = 0,
  ): Promise<readonly MemoryKey[]> {
    const [first] = rows;
    const containers = rows.filter((row) => mayHaveParts(row)).map(({ id }) => id);
    if (first === undefined || containers.length === 0 || depth === CONTAINER_DEPTH_MAX) return [];
    const params = { containers, projectKey: first.project_key, now: this.context.clock.now() };
    const parts = keysOf(await this.session.all<KeyRow>(KEYS_OF_PARTS, params));
    return this.#removeKeys(projectId, parts, { purges, depth: depth + 1 });
  }
}
