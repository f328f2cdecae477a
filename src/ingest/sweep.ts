// Carries deletions and expiry into the indexes, and erases what was kept long enough. worker.ts decides when.

import type { ProjectId } from "../domain/ids.ts";
import type { Log } from "../kit/log.ts";
import type { ChunkIndex } from "../ports/chunk-index.ts";
import type { MemoryStore } from "../ports/memory-store.ts";
import type { RetirementStore } from "../ports/retirement-store.ts";
import type { UploadFiles } from "../ports/upload-files.ts";

/** Memories per step. */
const SWEEP_MEMORIES = 1_000;

/** What a sweep needs. */
export interface SweepParts {
  readonly retirement: RetirementStore;
  readonly index: ChunkIndex;
  readonly files: Pick<UploadFiles, "remove">;
  readonly log: Log;
}

/**
 * Removes deleted and expired memories from the indexes, and the texts and rows whose retention has ended. A project
 * whose index fails is logged and left to the next sweep; the other projects and the purge go on. At the end the index
 * gives back the space that they took up.
 */
export async function sweep(parts: SweepParts): Promise<void> {
  await retractRetired(parts);
  for (;;) {
    const keys = await parts.retirement.purgeable(SWEEP_MEMORIES);
    if (keys.length === 0) break;
    await parts.index.purge(keys);
    for (const file of await parts.retirement.erase(keys)) await parts.files.remove(file);
  }
  await parts.index.compact();
}

// Each round takes memories out of an index, or learns that a project's index fails: so this ends.
async function retractRetired({ retirement, index, log }: SweepParts): Promise<void> {
  const failing = new Set<ProjectId>();
  for (;;) {
    const retired = await retirement.retired(SWEEP_MEMORIES, [...failing]);
    if (retired.every(({ projectId }) => failing.has(projectId))) return;
    for (const [projectId, ofProject] of Map.groupBy(retired, (memory) => memory.projectId)) {
      const keys = ofProject.map((memory) => memory.memoryKey);
      try {
        const project = await index.project(projectId);
        await project.hide(keys);
        await project.retract(keys);
        await retirement.markRetracted(keys);
      } catch (err) {
        failing.add(projectId);
        log.warn({ project: projectId, err }, "deleted memories could not be removed from an index yet; trying again");
      }
    }
  }
}

/**
 * Removes kept files that no row refers to.
 * @param ageMs younger files stay: the row that refers to one may not be committed yet. 0 at a start, when nobody
 *   stores.
 * @returns how many
 */
export async function removeUnreferencedFiles(
  files: Pick<UploadFiles, "names" | "remove">,
  memories: Pick<MemoryStore, "unreferencedFiles">,
  ageMs: number,
): Promise<number> {
  const unreferenced = await memories.unreferencedFiles(await files.names(ageMs));
  for (const name of unreferenced) await files.remove(name);
  return unreferenced.length;
}
