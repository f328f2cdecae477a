// Implements MapStore: one row per memory on the map of its project, with coordinates in millionths.

import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import type { MapState, MapStore, Place, PlacedMemory } from "../ports/map-store.ts";
import type { StoreContext } from "./context.ts";
import type { Dialect } from "./dialect.ts";
import { LIVE, OPEN_PROJECT } from "./rows/sql.ts";
import type { Session } from "./session.ts";
import { projectKeyOf } from "./user-rows.ts";

const STATE = `SELECT version, laid_out, computed_at FROM project_maps WHERE project_key = ${OPEN_PROJECT}`;
const PLACES = ({ isIn }: Dialect) => `SELECT memory_key, x, y FROM map_places
  WHERE memory_key ${isIn("keys")} AND project_key = ${OPEN_PROJECT}`;
const ALL = `SELECT memory_key, x, y FROM map_places WHERE project_key = ${OPEN_PROJECT}
  ORDER BY memory_key DESC LIMIT $rows`;
const UNPLACED = ({ indexedBy }: Dialect) => `SELECT memory_key FROM memories ${indexedBy("memories_by_status")}
  WHERE project_key = ${OPEN_PROJECT} AND status = 'completed' AND ${LIVE}
    AND NOT EXISTS (SELECT 1 FROM map_places WHERE map_places.memory_key = memories.memory_key)
  ORDER BY memory_key DESC LIMIT $rows`;
const BEGIN = `INSERT INTO project_maps (project_key, version, laid_out, computed_at)
  VALUES ($projectKey, 1, $laidOut, $now) ON CONFLICT DO NOTHING`;
const ADVANCE = `UPDATE project_maps SET version = version + 1, laid_out = coalesce($laidOut, laid_out),
  computed_at = $now WHERE project_key = $projectKey AND version = $version`;
// a memory may have been erased meanwhile
const PLACE = ({ rows }: Dialect) => `INSERT INTO map_places (memory_key, project_key, x, y)
  SELECT given.memory_key, memories.project_key, given.x, given.y
  FROM ${rows({ memory_key: "bigint", x: "bigint", y: "bigint" })}
  JOIN memories ON memories.memory_key = given.memory_key WHERE memories.project_key = $projectKey
  ON CONFLICT (memory_key) DO UPDATE SET x = excluded.x, y = excluded.y`;

/** Maximum number of places per statement. On SQLite, its time grows with the square of this (`Dialect.rows`). */
const STATEMENT_PLACES = 200;
/** Coordinates are stored in millionths. */
const UNITS = 1_000_000;

interface PlaceRow {
  readonly memory_key: bigint;
  readonly x: bigint;
  readonly y: bigint;
}

/** Places of memories. */
export class StoredMaps implements MapStore {
  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
  ) {}

  async state(projectId: ProjectId): Promise<MapState | null> {
    const row = await this.session.get<{ version: bigint; laid_out: bigint; computed_at: bigint }>(STATE, {
      project: projectId,
    });
    if (row === null) return null;
    return { version: Number(row.version), laidOut: Number(row.laid_out), computedAt: Number(row.computed_at) };
  }

  async places(projectId: ProjectId, keys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, Place>> {
    const rows = await this.session.all<PlaceRow>(PLACES, { project: projectId, keys });
    return new Map(rows.map((row) => [row.memory_key as MemoryKey, toPlace(row)]));
  }

  async all(projectId: ProjectId, limit: number): Promise<readonly PlacedMemory[]> {
    const rows = await this.session.all<PlaceRow>(ALL, { project: projectId, rows: limit });
    return rows.map((row) => ({ key: row.memory_key as MemoryKey, ...toPlace(row) }));
  }

  async unplaced(projectId: ProjectId, limit: number): Promise<readonly MemoryKey[]> {
    const params = { project: projectId, now: this.context.clock.now(), rows: limit };
    const rows = await this.session.all<{ memory_key: bigint }>(UNPLACED, params);
    return rows.map((row) => row.memory_key as MemoryKey);
  }

  async place(
    projectId: ProjectId,
    placed: readonly PlacedMemory[],
    { version, laidOut }: { readonly version: number; readonly laidOut: number | null },
  ): Promise<boolean> {
    const projectKey = await projectKeyOf(this.session, projectId);
    const values = { projectKey, laidOut: laidOut ?? null, now: this.context.clock.now() };
    const changed =
      version === 0
        ? await this.session.run(BEGIN, { ...values, laidOut: laidOut ?? placed.length })
        : await this.session.run(ADVANCE, { ...values, version });
    if (changed === 0) return false;
    for (let first = 0; first < placed.length; first += STATEMENT_PLACES) {
      const part = placed.slice(first, first + STATEMENT_PLACES);
      await this.session.run(PLACE, {
        projectKey,
        memory_key: part.map(({ key }) => key),
        x: part.map(({ x }) => BigInt(Math.round(x * UNITS))),
        y: part.map(({ y }) => BigInt(Math.round(y * UNITS))),
      });
      await new Promise(setImmediate); // lets other requests run
    }
    return true;
  }
}

function toPlace({ x, y }: PlaceRow): Place {
  return { x: Number(x) / UNITS, y: Number(y) / UNITS };
}
