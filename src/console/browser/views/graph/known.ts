// What the explorer has read of the graph: entities with their neighbours, as far as a person has gone.

import { signal } from "@preact/signals";
import { call } from "../../core/api.ts";
import type { Entity, EntitySurroundings } from "../../core/calls.ts";
import type { Graph } from "../../ui/graph-data.ts";

/** Most nodes in the picture; of more it would be a ball of lines. */
const NODES_MAX = 300;
/** Entities at the start whose neighbours are read. */
const FIRST_ENTITIES = 16;
/** Neighbours that are read of each entity at the start, and of an entity that a person opens. */
const FIRST_NEIGHBOURS = 10;
const OPENED_NEIGHBOURS = 30;

/** Entities with their surroundings, by id. */
export const surroundings = signal<ReadonlyMap<string, EntitySurroundings>>(new Map());

/** Reads the surroundings of an entity, and adds them to the picture. @throws ApiError */
export async function explore(id: string, userId: string): Promise<EntitySurroundings> {
  const found = await call("getEntity", { params: { id }, query: { userId, limit: OPENED_NEIGHBOURS } });
  surroundings.value = new Map([...surroundings.value, [id, found]]);
  return found;
}

/** Begins again with the entities that most memories mention. @throws ApiError */
export async function begin(entities: readonly Entity[], userId: string): Promise<void> {
  surroundings.value = new Map();
  const first = entities.slice(0, FIRST_ENTITIES);
  const found = await Promise.all(
    first.map(({ id }) => call("getEntity", { params: { id }, query: { userId, limit: FIRST_NEIGHBOURS } })),
  );
  surroundings.value = new Map(found.map((one) => [one.id, one]));
}

/** Takes entities that were renamed or merged out of the picture until they are read again. */
export function forgetEntity(...ids: readonly string[]): void {
  surroundings.value = new Map([...surroundings.value].filter(([id]) => !ids.includes(id)));
}

/** The picture of what is known, the entities that were explored first. */
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
  for (const one of all) for (const near of one.neighbours) if (kind === "" || near.kind === kind) add(near, 1.5);
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
