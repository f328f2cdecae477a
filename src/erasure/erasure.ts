// Erases what was deleted, in one order: index, texts, rows, files. The sweep erases deleted and expired memories when
// their retention has ended (ingest/worker.ts decides when it runs), the deletion of a project erases the project, and
// services/forget.ts does not wait for the retention. stores/erasure.ts lists the tables.

import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import type { Log } from "../kit/log.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type { IndexMaintenance, PublishedMemories } from "../ports/chunk-index.ts";
import type { HistoryStore } from "../ports/history-store.ts";
import type { MemoryStore } from "../ports/memory-store.ts";
import type { RetirementStore } from "../ports/retirement-store.ts";
import type { UploadFiles } from "../ports/upload-files.ts";

/** Number of memories per batch. */
const SWEEP_MEMORIES = 1_000;

/** Maximum number of memories of a removed project per step; it limits the size of one DuckDB statement. */
const PURGE_MEMORIES = 1_000;

/** What a sweep erases from. */
export interface SweptStores {
  readonly retirement: RetirementStore;
  readonly history: Pick<HistoryStore, "eraseOld">;
  readonly index: PublishedMemories & Pick<IndexMaintenance, "compact" | "drop">;
  readonly files: Pick<UploadFiles, "remove" | "removeAgain">;
  readonly log: Log;
  /** Whether to sweep the rows; default: yes. If not, another process does, and only the indexes here are compacted. */
  readonly sweepsRows?: boolean;
}

/**
 * Retracts deleted and expired memories from the indexes, erases those whose retention has ended, and earlier texts and
 * relations whose retention has ended. Then compacts the indexes and erases what is left in the files. If the index of
 * a project fails, this is logged, and the next sweep tries it again; other projects and the purge continue.
 * @param erasesNow do not put the last step off, although it rewrites all texts
 * @returns true if no file has anything of purged memories any more; false if something may be left
 */
export async function sweep(stores: SweptStores, erasesNow = false): Promise<boolean> {
  const { retirement, history, index, files } = stores;
  await files.removeAgain();
  if (stores.sweepsRows === false) return index.compact(erasesNow);
  await retractRetired(stores);
  await purge(
    stores,
    async () => retirement.purgeable(SWEEP_MEMORIES),
    async (keys) => retirement.erase(keys),
  );
  while (await history.eraseOld(SWEEP_MEMORIES));
  const isIndexErased = await index.compact(erasesNow);
  const areRowsErased = await retirement.eraseTraces();
  return isIndexErased && areRowsErased;
}

/** Erases a removed project: its index, its memories, then its other rows. */
export async function eraseProject(
  stores: Pick<SweptStores, "index" | "files"> & { readonly accounts: AccountStore },
  id: ProjectId,
): Promise<void> {
  const { accounts, index } = stores;
  await index.drop(id);
  await purge(
    stores,
    async () => (await accounts.memoriesOfRemoved(id, PURGE_MEMORIES)) as readonly MemoryKey[],
    async (keys) => accounts.eraseMemoriesOfRemoved(id, keys),
  );
  await accounts.eraseProject(id);
}

/** Erases memories that left the index, page by page: texts, then rows, then files, so that a crash leaves the row. */
async function purge(
  { index, files }: Pick<SweptStores, "index" | "files">,
  next: () => Promise<readonly MemoryKey[]>,
  eraseRows: (keys: readonly MemoryKey[]) => Promise<readonly string[]>,
): Promise<void> {
  for (;;) {
    const keys = await next();
    if (keys.length === 0) return;
    await index.purge(keys);
    for (const file of await eraseRows(keys)) await files.remove(file);
  }
}

// The loop terminates, because each pass retracts memories or adds a project to `failing`.
async function retractRetired({ retirement, index, log }: SweptStores): Promise<void> {
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
