// Checks and repairs the indexes of a running server, for `mneme verify`.

import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import type { IndexDefect, OnVerifyProgress, Repair } from "../domain/verification.ts";
import { untilIndexed } from "../ingest/until-indexed.ts";
import type { Clock } from "../kit/clock.ts";
import { counted } from "../kit/counted.ts";
import type { IndexFinding, IndexMaintenance, IndexOf, PublishIndex } from "../ports/chunk-index.ts";
import type { Stores } from "../ports/transactions.ts";
import { verifyEach, visiblePages } from "./storage.ts";

/** Number of memories that are put back to `processing` in one transaction. */
const STEP_MEMORIES = 500;
/** Milliseconds between two checks whether memories have been indexed again. */
const POLL_MS = 200;

/** What the checks and repairs need. */
export interface IndexUpkeepOptions {
  readonly stores: Pick<Stores, "memories" | "jobs">;
  readonly index: IndexOf<PublishIndex> & Pick<IndexMaintenance, "verify">;
  /** The projects whose indexes are on this machine. */
  readonly projects: () => Promise<readonly ProjectId[]>;
  readonly wakeIngest: () => void;
  readonly clock: Clock;
}

/** Checks and repairs the indexes on this machine. */
export class IndexUpkeep {
  constructor(private readonly options: IndexUpkeepOptions) {}

  /** Defects of the indexes. Publications of a project wait while the parts of its index are compared. */
  verify(onProgress: OnVerifyProgress): Promise<readonly IndexDefect[]> {
    const { stores, index, projects } = this.options;
    return verifyEach({ projects, memories: stores.memories }, async (id, completed) => {
      const { findings } = await index.verify(id, completed, (done, total) => onProgress("index", done, total));
      return findings;
    });
  }

  /**
   * Removes memories that became `failed` from the indexes, and indexes incomplete memories again; resolves when that
   * is done. Damaged files of an index stay until the next start, which replaces them.
   * @param failed memories that became `failed` when the stores of record were repaired
   */
  async repair(
    failed: ReadonlyMap<ProjectId, readonly MemoryKey[]>,
    onProgress: OnVerifyProgress,
  ): Promise<readonly Repair[]> {
    const { stores, index, projects } = this.options;
    for (const [id, keys] of failed) {
      using project = await index.project(id);
      await project.hide(keys);
      await project.retract(keys);
    }
    const repairs: Repair[] = [];
    for (const id of await projects()) {
      const { findings } = await index.verify(id, visiblePages(id, stores.memories));
      const incomplete = [...new Set(findings.flatMap(({ memoryKeys }) => memoryKeys))];
      await this.#indexAgain(id, incomplete, onProgress);
      repairs.push(...findings.map((finding) => repairOf(id, finding)));
    }
    return repairs;
  }

  async #indexAgain(id: ProjectId, keys: readonly MemoryKey[], onProgress: OnVerifyProgress): Promise<void> {
    const { stores, index, wakeIngest, clock } = this.options;
    if (keys.length === 0) return;
    using project = await index.project(id);
    for (let first = 0; first < keys.length; first += STEP_MEMORIES) {
      const step = keys.slice(first, first + STEP_MEMORIES);
      await stores.jobs.reopen(step);
      await project.hide(step);
    }
    wakeIngest();
    for await (const waiting of untilIndexed({ jobs: stores.jobs, clock, pollMs: POLL_MS }, id, keys)) {
      onProgress("index", keys.length - waiting, keys.length);
    }
  }
}

function repairOf(project: ProjectId, { kind, count, memoryKeys, detail }: IndexFinding): Repair {
  const is_repaired = memoryKeys.length > 0;
  const what = is_repaired
    ? `${counted(memoryKeys.length, "memory was", "memories were")} indexed again`
    : "the next start of the server repairs this, and so does `mneme verify --repair` while no server runs";
  return { kind, count, is_repaired, detail: `${project}: ${detail.replace(/\.$/, "")}: ${what}` };
}
