// Checks the index of a project that no server has open, on a copy: opening an index repairs it, and a check changes
// nothing. Large files that opening never writes to are linked instead of copied.

import { constants } from "node:fs";
import { copyFile, link, mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { ProjectId } from "../../domain/ids.ts";
import { nullIfMissing } from "../../kit/missing-files.ts";
import type { IndexFinding, VisibleMemory } from "../../ports/chunk-index.ts";
import { addon } from "../native/addon.ts";
import { EmbeddedProjectIndex, type IndexDependencies } from "./project-index.ts";
import { RecentPassages } from "./recent-passages.ts";

/** Size in bytes above which a file is linked. Smaller ones may be written to: lists of files, locks. */
const LINKED_BYTES_MIN = 1024 * 1024;
/** Ending of the files to which opening may write although they are large: it cuts a damaged end. */
const LOG = ".log";
/** A model for an index whose list of vector sets is lost. No chunk has a vector of it. */
const NO_MODEL = { fingerprint: "none", dimensions: 1 };

/** What a check needs. */
export type IndexCopyDependencies = Pick<IndexDependencies, "archive" | "quarantine" | "log"> & {
  /** Folder with one folder per project. */
  readonly directory: string;
  /** Folder for the copy, on the same disk, which does not exist yet. It is removed afterwards. */
  readonly copies: string;
};

/**
 * Findings of the index of a project, as `IndexMaintenance.verify` returns them.
 * @throws NativeError or an error of the operating system if the index cannot be copied or opened
 */
export async function verifyCopy(
  { directory, copies, ...parts }: IndexCopyDependencies,
  id: ProjectId,
  completed: AsyncIterable<readonly Pick<VisibleMemory, "memoryKey">[]>,
  onProgress: (done: number, total: number) => void,
): Promise<readonly Pick<IndexFinding, "kind" | "count" | "detail">[]> {
  const [original, copy] = [join(directory, id), join(copies, id)];
  try {
    await mkdir(copy, { recursive: true, mode: 0o700 });
    await copyFolder(original, copy);
    const native = await addon().openProject({ directory: copy, newModel: NO_MODEL });
    const repairs = native.repairs();
    const indexParts = { ...parts, ...NEVER_USED, directory: copies, recentPassages: new RecentPassages() };
    const index = new EmbeddedProjectIndex(id, native, indexParts, repairs);
    try {
      const damaged = repairs.map((sentence) => ({
        kind: "damaged_file" as const,
        count: 1,
        detail: `A start would repair this: ${sentence.replaceAll(copy, original)}`,
      }));
      return [...damaged, ...(await index.verify(completed, onProgress)).findings];
    } finally {
      await index.close();
    }
  } finally {
    await rm(copies, { recursive: true, force: true });
  }
}

const NEVER_USED = {
  models: () => [NO_MODEL] as const,
  reserveChunkKeys: () => 0n,
} as const;

/** Copies a folder. A folder that does not exist counts as empty. */
async function copyFolder(from: string, to: string): Promise<void> {
  const entries = await readdir(from, { withFileTypes: true }).catch(nullIfMissing);
  for (const entry of entries ?? []) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) {
      await mkdir(target, { mode: 0o700 });
      await copyFolder(source, target);
    } else if (!entry.name.endsWith(LOG) && (await stat(source)).size >= LINKED_BYTES_MIN) {
      await link(source, target).catch(() => copyFile(source, target)); // not every disk has links
    } else {
      await copyFile(source, target, constants.COPYFILE_FICLONE);
    }
  }
}
