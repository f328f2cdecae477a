// The entities of a user or a project: their list, the surroundings of one, paths between two, and the names and merges
// that people give them. Decides what a viewer may see: a confined one sees only what memories of its user mention, as
// they write it.

import type { ChunkIds } from "../domain/chunk-ids.ts";
import { type EntityChange, type EntityHash, type EntityNote, targetOf } from "../domain/entity.ts";
import { Fault } from "../domain/fault.ts";
import type { ChunkId, EntityId, MemoryId, MemoryKey } from "../domain/ids.ts";
import type { Memory } from "../domain/memory.ts";
import { type CursorBinding, decodeCursor, encodeCursor, type Page } from "../domain/page.ts";
import { userOf, type Viewer } from "../domain/scope.ts";
import type { Clock } from "../kit/clock.ts";
import { shortened } from "../kit/shortened.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type {
  AdmissibleSet,
  EntityCuration,
  EntityKind,
  EntityNode,
  IndexOf,
  SearchIndex,
} from "../ports/chunk-index.ts";
import type { EntityStore } from "../ports/entity-store.ts";
import type { MemoryStore } from "../ports/memory-store.ts";
import type { Transaction } from "../ports/transactions.ts";

/** An entity as callers see it. */
export interface Entity {
  readonly id: EntityId;
  readonly name: string;
  readonly kind: EntityKind;
  /** Number of memories that mention it and that the viewer may see. */
  readonly memories: number;
}

/** Selects entities of a list. */
export interface EntityListing {
  readonly userId?: string;
  /** A part of the name. */
  readonly q?: string;
  readonly kind?: EntityKind;
  readonly limit: number;
  readonly cursor?: string;
}

/** An entity, the other entities of its passages, and passages that mention it, newest first. */
export interface EntitySurroundings {
  readonly entity: Entity;
  readonly neighbours: readonly (Entity & { readonly weight: number })[];
  readonly passages: readonly { readonly chunkId: ChunkId; readonly memoryId: MemoryId; readonly content: string }[];
}

/** A path between two entities; both lists are empty if there is none. */
export interface EntityPath {
  readonly entities: readonly Entity[];
  readonly links: readonly { readonly chunkId: ChunkId; readonly memoryId: MemoryId }[];
}

/** What the service needs. */
export interface EntityServiceDependencies {
  readonly entities: Pick<EntityStore, "notes">;
  readonly memories: Pick<MemoryStore, "getMany" | "userKey">;
  readonly accounts: Pick<AccountStore, "chunkIds">;
  readonly index: IndexOf<SearchIndex>;
  readonly clock: Clock;
}

/** What a call works on. */
interface Place {
  readonly project: SearchIndex;
  readonly within: AdmissibleSet;
  readonly ids: ChunkIds;
  readonly curation: EntityCuration;
}

/** Entities of projects. */
export class EntityService {
  constructor(private readonly uses: EntityServiceDependencies) {}

  /**
   * One page, entities that most memories mention first.
   * @throws Fault `invalid_cursor`; `insufficient_scope` if a confined viewer names another user
   */
  async list(viewer: Viewer, { limit, cursor, q, kind, userId }: EntityListing): Promise<Page<Entity>> {
    const parts = ["entities", viewer.projectId, userOf(viewer, userId) ?? null, q ?? null, kind ?? null];
    const found = await this.#at(viewer, userId, async ({ project, within, ids, curation }) => {
      const binding: CursorBinding = ids.cursorBinding(JSON.stringify(parts));
      const after = cursor === undefined ? null : decodeCursor(cursor, binding);
      const asked = { part: q?.toLowerCase() ?? null, kind: kind ?? null, after, limit: limit + 1 };
      const nodes = await project.entities(within, curation, asked);
      const shown = nodes.slice(0, limit);
      const last = shown.at(-1);
      const items = await this.#shown(viewer, project, ids, shown);
      return { items, cursor: nodes.length > limit && last !== undefined ? encodeCursor(last.order, binding) : null };
    });
    return found ?? { items: [], cursor: null };
  }

  /** @throws Fault `entity_not_found`; `insufficient_scope` if a confined viewer names another user */
  async get(
    viewer: Viewer,
    id: EntityId,
    { userId, limit }: { readonly userId?: string; readonly limit: number },
  ): Promise<EntitySurroundings> {
    const surroundings = await this.#at(viewer, userId, async ({ project, within, ids, curation }) => {
      const hash = ids.entityOf(id);
      const found = hash === null ? null : await project.entity(hash, within, curation, limit);
      if (found === null) return null;
      const { entity, neighbours, passages } = found;
      const nodes = [entity, ...neighbours.map((neighbour) => neighbour.entity)];
      const [own, ...others] = await this.#shown(viewer, project, ids, nodes);
      if (own === undefined) return null;
      const rows = await this.#rowsOf(viewer, passages);
      const texts = await project.passages(BigUint64Array.from(passages, ({ chunkKey }) => chunkKey));
      return {
        entity: own,
        neighbours: others.map((other, at) => ({ ...other, weight: neighbours[at]?.weight ?? 0 })),
        passages: passages.flatMap(({ chunkKey, memoryKey }, at) => {
          const [memory, passage] = [rows.get(memoryKey), texts[at]];
          if (memory === undefined || passage == null) return [];
          return [{ chunkId: ids.of(chunkKey), memoryId: memory.id, content: passage.text }];
        }),
      };
    });
    if (surroundings === null) throw absent(id, "id");
    return surroundings;
  }

  /** A shortest path of at most four links. @throws Fault as `get` */
  async path(viewer: Viewer, from: EntityId, to: EntityId, userId: string | undefined): Promise<EntityPath> {
    const path = await this.#at(viewer, userId, async ({ project, within, ids, curation }) => {
      const [first, last] = [ids.entityOf(from), ids.entityOf(to)];
      if (first === null) throw absent(from, "from");
      if (last === null) throw absent(to, "to");
      const found = await project.entityPath(first, last, within, curation);
      if (!found.knowsFirst) throw absent(from, "from");
      if (!found.knowsLast) throw absent(to, "to");
      const rows = await this.#rowsOf(viewer, found.links);
      const links = found.links.flatMap(({ chunkKey, memoryKey }) => {
        const memory = rows.get(memoryKey);
        return memory === undefined ? [] : [{ chunkId: ids.of(chunkKey), memoryId: memory.id }];
      });
      // a memory was deleted meanwhile
      if (links.length < found.links.length) return { entities: [], links: [] };
      return { entities: await this.#shown(viewer, project, ids, found.entities), links };
    });
    if (path === null) throw absent(from, "from");
    return path;
  }

  /**
   * Names an entity, or says that it is the same as another one.
   * @throws Fault `entity_not_found`; `invalid_request` if it would be merged into itself; `invalid_state` for a circle
   */
  async change(
    transaction: Transaction,
    viewer: Viewer,
    id: EntityId,
    { name, mergedInto }: { readonly name?: string | null; readonly mergedInto?: EntityId | null },
  ): Promise<void> {
    const ids = await this.uses.accounts.chunkIds(viewer.projectId);
    const entity = ids?.entityOf(id) ?? null;
    if (entity === null) throw absent(id, "id");
    const change: EntityChange = { ...(name !== undefined && { name }) };
    if (mergedInto === undefined) return transaction.entities.change(viewer.projectId, entity, change);
    const into = mergedInto === null ? null : (ids?.entityOf(mergedInto) ?? null);
    if (mergedInto !== null && into === null) throw absent(mergedInto, "merged_into");
    if (into === entity) {
      throw new Fault("invalid_request", "An entity cannot be merged into itself.", { param: "merged_into" });
    }
    return transaction.entities.change(viewer.projectId, entity, { ...change, mergedInto: into });
  }

  /** Refuses entities that no memory of the project mentions. @throws Fault `entity_not_found` */
  async refuseUnknown(viewer: Viewer, id: EntityId, param: string): Promise<void> {
    const isKnown = await this.#at(viewer, undefined, async ({ project, within, ids, curation }) => {
      const hash = ids.entityOf(id);
      return hash !== null && (await project.entity(hash, within, curation, 1)) !== null;
    });
    if (isKnown !== true) throw absent(id, param);
  }

  /** Runs `work` on what the viewer may see of a user or the project; null if the user or the project has nothing. */
  async #at<T>(viewer: Viewer, named: string | undefined, work: (place: Place) => Promise<T>): Promise<T | null> {
    const { memories, accounts, index, clock, entities } = this.uses;
    const { projectId } = viewer;
    const userId = userOf(viewer, named);
    const userKey = userId === undefined ? null : await memories.userKey(projectId, userId);
    const ids = await accounts.chunkIds(projectId);
    if (ids === null || (userId !== undefined && userKey === null)) return null;
    const curation = curationOf(await entities.notes(projectId), viewer);
    using project = await index.current(projectId);
    return await work({ project, within: await project.admit(userKey, clock.now()), ids, curation });
  }

  /** Rows of memories that the viewer may see now. They are read after the index, because only they decide. */
  async #rowsOf(
    viewer: Viewer,
    found: readonly { readonly memoryKey: MemoryKey }[],
  ): Promise<ReadonlyMap<MemoryKey, Memory>> {
    const rows = await this.uses.memories.getMany(
      viewer.projectId,
      found.map(({ memoryKey }) => memoryKey),
    );
    const isShown = ({ userId, state }: Memory) =>
      (viewer.userId === null || userId === viewer.userId) && state.status === "completed";
    return new Map([...rows].filter(([, memory]) => isShown(memory)));
  }

  async #shown(
    viewer: Viewer,
    project: SearchIndex,
    ids: ChunkIds,
    nodes: readonly EntityNode[],
  ): Promise<readonly Entity[]> {
    const entities = nodes.map(({ hash, name, kind, memories }) => ({ id: ids.ofEntity(hash), name, kind, memories }));
    if (viewer.userId === null) return entities;
    // the name may be written as another user writes it
    const passages = await project.passages(BigUint64Array.from(nodes, ({ chunkKey }) => chunkKey));
    return entities.map((entity, at) => ({ ...entity, name: writtenIn(passages[at]?.text ?? "", entity.name) }));
  }
}

function curationOf(notes: readonly EntityNote[], { userId }: Viewer): EntityCuration {
  const byEntity = new Map(notes.map((note) => [note.entity, note]));
  const merged: [EntityHash, EntityHash][] = [];
  for (const { entity, mergedInto } of notes)
    if (mergedInto !== null) merged.push([entity, targetOf(byEntity, entity)]);
  const named = notes.flatMap(({ entity, name }): [EntityHash, string][] => (name === null ? [] : [[entity, name]]));
  // a given name may come from memories of other users
  return { merged, named: userId === null ? named : [] };
}

/** A name as a passage writes it; in lower case if the passage does not contain it literally. */
function writtenIn(text: string, name: string): string {
  return new RegExp(RegExp.escape(name), "iu").exec(text)?.[0] ?? name.toLowerCase();
}

function absent(id: string, param: string): Fault {
  return new Fault("entity_not_found", `There is no entity '${shortened(id)}' here.`, { param });
}
