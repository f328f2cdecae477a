// The graph: entities that memories mention, and how they are connected.

import {
  type Entity,
  type EntityPath,
  type EntitySurroundings,
  findPath,
  getEntity,
  listEntities,
  updateEntity,
} from "../core/index.ts";
import { List } from "../list.ts";
import type { CallOptions, Transport } from "../transport.ts";
import type { EntityChange, EntityListParams, EntityParams } from "../types.ts";

/** The operations on entities. */
export class Graph {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lists entities, those that most memories mention first. */
  entities(params: EntityListParams = {}, options?: CallOptions): List<Entity> {
    return new List((cursor) =>
      this.#transport.call(
        (core) => listEntities({ ...core, query: { ...params, ...(cursor !== undefined && { cursor }) } }),
        "always",
        options,
      ),
    );
  }

  /** Reads an entity with its neighbours and passages. */
  entity(id: string, params: EntityParams = {}, options?: CallOptions): Promise<EntitySurroundings> {
    return this.#transport.call((core) => getEntity({ ...core, path: { id }, query: params }), "always", options);
  }

  /** Sets the name of an entity (`name`), or merges it into another one (`merged_into`). null undoes either. */
  update(id: string, change: EntityChange, options?: CallOptions): Promise<Entity> {
    return this.#transport.call((core) => updateEntity({ ...core, path: { id }, body: change }), "always", options);
  }

  /**
   * Finds a shortest path between two entities.
   * @param userId the path uses only entities and memories of this user
   */
  path(from: string, to: string, userId?: string, options?: CallOptions): Promise<EntityPath> {
    const query = { from, to, ...(userId !== undefined && { userId }) };
    return this.#transport.call((core) => findPath({ ...core, query }), "always", options);
  }
}
