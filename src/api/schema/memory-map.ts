// Requests and answers of /v1/memories/map.

import { Type } from "@sinclair/typebox";
import { LIMITS } from "../../domain/limits.ts";
import { Text } from "../check.ts";
import { scopeParameters } from "./attributes.ts";
import { Nullable, OneOf, Query, Time } from "./fields.ts";
import { FiltersAsText } from "./memories.ts";

/** Query parameters of getMemoryMap. */
export const MapQuery = Query({
  ...scopeParameters,
  filters: FiltersAsText,
  limit: Type.Integer({ minimum: 1, maximum: LIMITS.mapPoints, default: LIMITS.mapPointsDefault }),
});

const coordinate = Type.Number({ minimum: -1, maximum: 1 });
/** A memory on the map. */
export const MapPoint = Type.Object(
  {
    memory_id: Text(),
    x: coordinate,
    y: coordinate,
    type: Nullable(Text()),
    userId: Nullable(Text()),
    created_at: Time,
    is_superseded: Type.Boolean(),
  },
  { $id: "MapPoint" },
);
/** Answer of getMemoryMap: memories with similar meaning lie close to each other. */
export const MemoryMap = Type.Object(
  {
    state: OneOf(
      ["ready", "building"],
      "`building`: no places were computed yet; ask again. Memories that are new get their place a little later",
    ),
    computed_at: Nullable(Time),
    total: Type.Integer({ description: "number of completed memories that match" }),
    points: Type.Array(MapPoint, { description: "newest first; a place that is known stays" }),
  },
  { $id: "MemoryMap" },
);
