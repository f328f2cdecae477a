// The part of the graph that the explorer has loaded: entities with their neighbours.

import { signal } from "@preact/signals";
import { call } from "../../core/api.ts";
import type { Entity, EntitySurroundings } from "../../core/calls.ts";
import type { Graph } from "../../ui/graph-data.ts";

/** Maximum number of nodes in the picture. With more, lines would cover each other. */
const NODES_MAX = 300;
/** Number of entities whose neighbours are loaded at the start. */
const FIRST_ENTITIES = 16;
/** If at least this many entities are in several memories, those in only one memory are left out at the start. */
const SHARED_MIN = 4;
/** Least strength of a connection for which an entity without another one is shown, if the picture has many. */
const WEAK = 0.7;
const MANY_NODES = 30;
/** Neighbours that are read of each entity at the start, and of an entity that a person opens. */
const FIRST_NEIGHBOURS = 10;
/** Number of neighbours that are loaded of an entity that a person opens. */
const OPENED_NEIGHBOURS = 30;

/** The loaded entities with their neighbours and passages, by id. */
export const surroundings = signal<ReadonlyMap<string, EntitySurroundings>>(new Map());

/** Loads an entity with its neighbours, and adds them to the picture. @throws ApiError */
export async function explore(id: string, userId: string): Promise<EntitySurroundings> {
  const found = await call("getEntity", { params: { id }, query: { userId, limit: OPENED_NEIGHBOURS } });
  surroundings.value = new Map([...surroundings.value, [id, found]]);
  return found;
}

/** Replaces the loaded entities by the first of `entities`, which are sorted by number of memories. @throws ApiError */
export async function begin(entities: readonly Entity[], userId: string): Promise<void> {
  surroundings.value = new Map();
  // an entity that only one memory mentions connects no memories, and would hide those that do
  const shared = entities.filter(({ memories }) => memories > 1);
  const first = (shared.length >= SHARED_MIN ? shared : entities).slice(0, FIRST_ENTITIES);
  const found = await Promise.all(
    first.map(({ id }) => call("getEntity", { params: { id }, query: { userId, limit: FIRST_NEIGHBOURS } })),
  );
  surroundings.value = new Map(found.map((one) => [one.id, one]));
}

/** Removes entities that were renamed or merged, until they are loaded again. */
export function forgetEntity(...ids: readonly string[]): void {
  surroundings.value = new Map([...surroundings.value].filter(([id]) => !ids.includes(id)));
}

/**
 * The picture of the loaded entities of a kind (empty: all). Nodes of `path` come first, so that the limit keeps them.
 */
export function pictureOfKnown(kind: string, path: readonly Entity[]): Graph {
  const nodes = new Map<string, { id: string; label: string; kind: string; weight: number }>();
  const add = ({ id, name, kind: own }: Pick<Entity, "id" | "name" | "kind">, weight: number) => {
    if (nodes.size >= NODES_MAX && !nodes.has(id)) return;
    const before = nodes.get(id);
    nodes.set(id, { id, label: name, kind: own, weight: Math.max(before?.weight ?? 0, weight) });
  };
  for (const entity of path) add(entity, 8);
  const all = [...surroundings.value.values()];
  for (const one of all) if (kind === "" || one.kind === kind) add(one, 2 + Math.log2(1 + one.memories));
  const connections = new Map<string, number>();
  for (const { neighbours } of all)
    for (const { id } of neighbours) connections.set(id, (connections.get(id) ?? 0) + 1);
  const isMany = connections.size > MANY_NODES;
  for (const one of all)
    for (const near of one.neighbours) {
      const isWeak = isMany && near.weight < WEAK && connections.get(near.id) === 1;
      if ((kind === "" || near.kind === kind) && !isWeak) add(near, 1.5);
    }
  const links = all.flatMap(({ id, neighbours }) =>
    neighbours.map((near) => ({ from: id, to: near.id, weight: near.weight })),
  );
  const once = new Map(links.map((link) => [[link.from, link.to].sort().join(" "), link]));
  for (const [at, { id }] of path.entries()) {
    const before = path[at - 1];
    if (before !== undefined) once.set([before.id, id].sort().join(" "), { from: before.id, to: id, weight: 1 });
  }
  return {
    nodes: [...nodes.values()],
    links: [...once.values()].filter(({ from, to }) => nodes.has(from) && nodes.has(to)),
  };
}
