// Converts entities between the port and the native core.

import type { ChunkKey, MemoryKey } from "../../domain/ids.ts";
import type {
  EntityCuration,
  EntityNode,
  EntityPassage,
  EntityQuery,
  FoundEntity,
  FoundPath,
} from "../../ports/chunk-index.ts";
import type * as native from "../native/addon-types.ts";
import { ENTITY_KINDS } from "./entity-kinds.ts";

const LETTERS = Object.fromEntries(Object.entries(ENTITY_KINDS).map(([letter, kind]) => [kind, letter])) as {
  readonly [Kind in EntityNode["kind"]]: native.EntityNode["kind"];
};

/** Names and merges for the core. */
export function forNativeCuration({ merged, named }: EntityCuration): native.EntityCuration {
  return {
    merged: BigUint64Array.from(merged, ([entity]) => entity),
    into: BigUint64Array.from(merged, ([, into]) => into),
    named: BigUint64Array.from(named, ([entity]) => entity),
    names: named.map(([, name]) => name),
  };
}

/** A query for the core. */
export function forNativeQuery({ part, kind, after, limit }: EntityQuery): native.EntityListOptions {
  return {
    ...(part !== null && { part }),
    ...(kind !== null && { kind: LETTERS[kind] }),
    ...(after !== null && { after }),
    limit,
  };
}

/** An entity of the core. */
export function entityNodeOf({ kind, chunkKey, ...node }: native.EntityNode): EntityNode {
  return { ...node, kind: ENTITY_KINDS[kind], chunkKey: chunkKey as ChunkKey };
}

/** An entity of the core with its surroundings. */
export function foundEntityOf({ entity, neighbours, weights, ...found }: native.EntitySurroundings): FoundEntity {
  return {
    entity: entityNodeOf(entity),
    neighbours: neighbours.map((neighbour, at) => ({ entity: entityNodeOf(neighbour), weight: weights[at] ?? 0 })),
    passages: passagesOf(found),
  };
}

/** A path of the core. */
export function foundPathOf({ knowsFirst, knowsLast, entities, ...found }: native.EntityPath): FoundPath {
  return { knowsFirst, knowsLast, entities: entities.map(entityNodeOf), links: passagesOf(found) };
}

function passagesOf({
  chunkKeys,
  memoryKeys,
}: Pick<native.EntityPath, "chunkKeys" | "memoryKeys">): readonly EntityPassage[] {
  return Array.from(chunkKeys, (chunkKey, at) => {
    return { chunkKey: chunkKey as ChunkKey, memoryKey: (memoryKeys[at] ?? 0n) as MemoryKey };
  });
}
