// The memories of the files in a container file, such as an archive: lists them, and counts them by status.

import type { PartCounts } from "../../domain/containers.ts";
import { invariant } from "../../domain/fault.ts";
import type { MemoryId, MemoryKey, ProjectId } from "../../domain/ids.ts";
import type { ContainerPart } from "../../ports/memory-store.ts";
import type { StoreContext } from "../context.ts";
import type { Dialect } from "../dialect.ts";
import { type MemoryRow, storedSource } from "../rows/memory.ts";
import { LIVE, OPEN_PROJECT } from "../rows/sql.ts";
import type { Session } from "../session.ts";

// with `LIVE`, the database can use the index, which has no deleted memories
const PARTS = ({ container, indexedBy }: Dialect) => `SELECT memory_key, source
  FROM memories ${indexedBy("memories_by_container")}
  WHERE ${container} = $container AND ${container} IS NOT NULL AND project_key = ${OPEN_PROJECT} AND ${LIVE}
  ORDER BY memory_key`;
const COUNTS = ({ container, isIn, indexedBy }: Dialect) => `SELECT ${container} AS container, status, count(*) AS parts
  FROM memories ${indexedBy("memories_by_container")}
  WHERE ${container} ${isIn("containers", "text")} AND ${container} IS NOT NULL AND project_key = ${OPEN_PROJECT}
    AND ${LIVE}
  GROUP BY 1, status`;

/** Condition for the memories of the files in these files, of one project. Use it together with `LIVE`. */
export const IN_CONTAINERS = ({ container, isIn }: Dialect) => `${container} ${isIn("containers", "text")}
  AND ${container} IS NOT NULL AND memories.project_key = $projectKey`;

/** Memories of files in a file. */
export class MemoryParts {
  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
  ) {}

  /** See MemoryStore.partsOf. */
  async of(projectId: ProjectId, container: MemoryId): Promise<readonly ContainerPart[]> {
    const params = { project: projectId, container, now: this.context.clock.now() };
    const rows = await this.session.all<Pick<MemoryRow, "memory_key" | "source">>(PARTS, params);
    return rows.map((row) => {
      const source = storedSource(row);
      invariant(source !== null, "the memory of a file in a file has a source");
      const { path = source.filename, container_version: containerVersion = null } = source;
      return { key: row.memory_key as MemoryKey, path, containerVersion };
    });
  }

  /** See MemoryStore.partCounts. */
  async counts(projectId: ProjectId, containers: readonly MemoryId[]): Promise<ReadonlyMap<string, PartCounts>> {
    if (containers.length === 0) return new Map();
    const params = { project: projectId, containers, now: this.context.clock.now() };
    const rows = await this.session.all<{ container: string; status: string; parts: bigint }>(COUNTS, params);
    return new Map(
      [...Map.groupBy(rows, ({ container }) => container)].map(([container, ofOne]) => {
        const of = (status?: string) =>
          ofOne.reduce((sum, row) => sum + (status === undefined || row.status === status ? Number(row.parts) : 0), 0);
        return [container, { total: of(), completed: of("completed"), failed: of("failed") }];
      }),
    );
  }
}
