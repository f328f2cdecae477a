// The operation that shows memories on a map by their meaning.

import { LIMITS } from "../domain/limits.ts";
import { isoTime } from "../kit/clock.ts";
import type { MapPoint, MapService } from "../services/memory-map.ts";
import { type Operation, reading } from "./operation.ts";
import * as schema from "./schema/memory-map.ts";
import { filterOfText } from "./search.ts";
import { isoTimeOrNull, type View } from "./views.ts";

/** The operation GET /v1/memories/map. */
export function mapOperation(maps: MapService): Operation {
  return reading({
    name: "getMemoryMap",
    group: "Memories",
    summary: "Read the places of memories on a plane, where memories with similar meaning lie close together.",
    method: "GET",
    path: "/v1/memories/map",
    scope: "memories:read",
    query: schema.MapQuery,
    answers: { 200: schema.MemoryMap },
    faults: ["invalid_filter"],
    read: async ({ principal, query: { filters, limit = LIMITS.mapPointsDefault, ...scope }, signal }) => {
      const asked = { ...scope, limit, filter: filterOfText(filters) };
      const { state, computedAt, total, points } = await maps.map(principal, asked, signal);
      return {
        status: 200,
        body: { state, computed_at: isoTimeOrNull(computedAt), total, points: points.map(pointView) },
      };
    },
  });
}

/** Converts the place of a memory on the map to the schema `MapPoint`. */
function pointView({ memory, x, y }: MapPoint): View<typeof schema.MapPoint> {
  return {
    memory_id: memory.id,
    ...{ x, y },
    type: memory.type,
    userId: memory.userId,
    created_at: isoTime(memory.createdAt),
    is_superseded: memory.supersededBy !== null,
  };
}
