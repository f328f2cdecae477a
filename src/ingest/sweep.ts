// Sweep: removes deleted and expired memories from the indexes, and purges them when their retention has ended.
// worker.ts decides when it runs.

import type { ProjectId } from "../domain/ids.ts";
import type { Log } from "../kit/log.ts";
import type { ChunkIndex } from "../ports/chunk-index.ts";
import type { MemoryStore } from "../ports/memory-store.ts";
import type { RetirementStore } from "../ports/retirement-store.ts";
import type { UploadFiles } from "../ports/upload-files.ts";

/** Number of memories per batch. */
const SWEEP_MEMORIES = 1_000;

/** What a sweep needs. */
export interface SweepParts {
  readonly retirement: RetirementStore;
  readonly index: ChunkIndex;
  readonly files: Pick<UploadFiles, "remove" | "removeAgain">;
  readonly log: Log;
  /** Whether to sweep the rows; default: yes. If not, another process does, and only the indexes here are compacted. */
  readonly sweepsRows?: boolean;
}

/**
 * Retracts deleted and expired memories from the indexes, purges texts, rows and files whose retention has ended, then
 * compacts the indexes and erases what purged memories left in the files. If the index of a project fails, this is
 * logged, and the next sweep tries it again; other projects and the purge continue.
 * @param erasesNow do not put the last step off, although it rewrites all texts
 * @returns true if no file has anything of purged memories any more; false if something may be left
 */
export async function sweep(parts: SweepParts, erasesNow = false): Promise<boolean> {
  await parts.files.removeAgain();
  if (parts.sweepsRows === false) return parts.index.compact(erasesNow);
  await retractRetired(parts);
  for (;;) {
    const keys = await parts.retirement.purgeable(SWEEP_MEMORIES);
    if (keys.length === 0) break;
    await parts.index.purge(keys);
    for (const file of await parts.retirement.erase(keys)) await parts.files.remove(file);
  }
  const isIndexErased = await parts.index.compact(erasesNow);
  const areRowsErased = await parts.retirement.eraseTraces();
  return isIndexErased && areRowsErased;
}

// The loop terminates, because each pass retracts memories or adds a project to `failing`.
async function retractRetired({ retirement, index, log }: SweepParts): Promise<void> {
  const failing = new Set<ProjectId>();
  for (;;) {
    const retired = await retirement.retired(SWEEP_MEMORIES, [...failing]);
    if (retired.every(({ projectId }) => failing.has(projectId))) return;
    for (const [projectId, ofProject] of Map.groupBy(retired, (memory) => memory.projectId)) {
      const keys = ofProject.map((memory) => memory.memoryKey);
      try {
        await index.retract(projectId, keys);
        await retirement.markRetracted(keys);
      } catch (err) {
        failing.add(projectId);
        log.warn(
          { project: projectId, err },
          "deleted memories could not be removed from an index; trying again later",
        );
      }
    }
  }
}

/**
 * Removes uploaded files that no row refers to.
 * @param ageMs minimum age of a file that is removed, because the row of a younger file may not be committed yet; 0 at
 *   the start of the server, before uploads are accepted.
 * @returns number of removed files
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
