// How deletions and expiry reach the indexes, and what was kept long enough goes for good. When is worker.ts's business.

import type { ProjectId } from "../domain/ids.ts";
import type { Log } from "../kit/log.ts";
import type { ChunkIndex } from "../ports/chunk-index.ts";
import type { MemoryStore } from "../ports/memory-store.ts";

/** Memories of one step. */
const SWEEP_MEMORIES = 1_000;

/** What sweeping stands on. */
export interface SweepParts {
  readonly memories: MemoryStore;
  readonly index: ChunkIndex;
  readonly log: Log;
}

/**
 * Removes what was deleted or has expired from the indexes, and texts and rows whose retention has ended. A project whose index
 * fails is logged and left for the next sweep; it holds up no other, nor the purge.
 */
export async function sweep(parts: SweepParts): Promise<void> {
  await retractRetired(parts);
  for (;;) {
    const keys = parts.memories.purgeable(SWEEP_MEMORIES);
    if (keys.length === 0) break;
    await parts.index.purge(keys);
    parts.memories.erase(keys);
  }
}

// Each round takes memories out of the index, or learns of a project where that fails: it ends.
async function retractRetired({ memories, index, log }: SweepParts): Promise<void> {
  const failing = new Set<ProjectId>();
  for (;;) {
    const retired = memories.retired(SWEEP_MEMORIES, [...failing]);
    if (retired.every(({ projectId }) => failing.has(projectId))) return;
    for (const [projectId, ofProject] of Map.groupBy(retired, (memory) => memory.projectId)) {
      const keys = ofProject.map((memory) => memory.memoryKey);
      try {
        const project = await index.project(projectId);
        project.hide(keys);
        await project.retract(keys);
        memories.markRetracted(keys);
      } catch (err) {
        failing.add(projectId);
        log.warn({ project: projectId, err }, "deleted memories could not be removed from an index yet; trying again");
      }
    }
  }
}
