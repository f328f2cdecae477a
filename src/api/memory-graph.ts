// The operation that shows the graph around a memory.

import { LIMITS } from "../domain/limits.ts";
import type { GraphService, MemoryGraph } from "../services/graph.ts";
import { memoryPathId } from "./ids.ts";
import { absent } from "./memories.ts";
import { type Operation, reading } from "./operation.ts";
import * as schema from "./schema/memory-graph.ts";
import type { View } from "./views.ts";

/** The operation GET /v1/memories/{id}/graph. */
export function graphOperation({ graph }: { readonly graph: GraphService }): Operation {
  return reading({
    name: "getMemoryGraph",
    group: "Memories",
    summary: "Read the entities of a memory, their relations, and memories with the same entities.",
    method: "GET",
    path: "/v1/memories/:id/graph",
    scope: "memories:read",
    query: schema.MemoryGraphQuery,
    answers: { 200: schema.MemoryGraph },
    faults: ["memory_not_found"],
    read: async ({ principal, params, query }) => {
      const id = memoryPathId(params.id);
      const around = await graph.around(principal, id, query.limit ?? LIMITS.neighboursDefault);
      if (around === null) throw absent(id);
      return { status: 200, body: memoryGraphView(around) };
    },
  });
}

/** Converts the graph around a memory to the schema `MemoryGraph`. */
function memoryGraphView({ memory, entities, facts, neighbours }: MemoryGraph): View<typeof schema.MemoryGraph> {
  return {
    memory_id: memory.id,
    status: memory.state.status,
    entities: entities.map(({ name, kind, mentions, memories, chunkIds }) => {
      return { name, kind, mentions, memories, chunk_ids: chunkIds };
    }),
    relations: facts.map(({ subject, predicate, object }) => ({ subject, predicate, object })),
    neighbours: neighbours.map((neighbour) => ({
      memory_id: neighbour.memory.id,
      title: neighbour.memory.title,
      score: neighbour.score,
      entities: neighbour.entities,
    })),
  };
}
