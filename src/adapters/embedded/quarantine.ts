// Quarantine: keeps damaged files for an examination, in `quarantine/` of the data directory: files of the indexes, and
// folders of store-quarantine.ts with files of the stores. Nothing reads it. A purge empties it.

import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import type { ProjectId } from "../../domain/ids.ts";
import type { Clock } from "../../kit/clock.ts";
import { timeName } from "../../stores/store-quarantine.ts";

/** Maximum number of kept files and folders, and of their bytes. The newest ones stay, and at least one. */
const ENTRIES_MAX = 20;
const BYTES_MAX = 4 * 1024 * 1024 * 1024;

/** End of the name of a damaged file or folder that the native core has renamed. */
const ASIDE = /\.damaged-\d+$/;
/** Names in the quarantine: `<time>-<project>-<file>` for files of an index, `<time>-stores` for store files. */
const KEPT = /^\d{8}T\d{6}\.\d{3}Z-(?:prj_|stores$)/;

/** All damaged files of a data directory. */
export class Quarantine {
  constructor(
    private readonly directory: string,
    private readonly clock: Pick<Clock, "now">,
  ) {}

  /**
   * Moves files that the native core set aside in the folder of a project, now or earlier, into the quarantine.
   * @returns `sentences` with the new paths
   * @throws an error of the file system; what was not moved is moved at the next opening
   */
  collect(projectId: ProjectId, folder: string, sentences: readonly string[]): readonly string[] {
    let changed = sentences;
    for (const path of setAsideIn(folder)) {
      const moved = this.#keep(projectId, folder, path);
      changed = changed.map((sentence) => sentence.replaceAll(path, moved));
    }
    return changed;
  }

  /** Deletes everything, because purged texts may be in it. */
  clear(): void {
    for (const name of this.#kept()) rmSync(join(this.directory, name), { recursive: true, force: true });
  }

  /** Deletes the oldest entries above the limits. */
  prune(): void {
    let bytes = 0;
    for (const [at, name] of this.#kept().toReversed().entries()) {
      const path = join(this.directory, name);
      bytes += bytesOf(path);
      if (at > 0 && (at >= ENTRIES_MAX || bytes > BYTES_MAX)) rmSync(path, { recursive: true, force: true });
    }
  }

  #keep(projectId: ProjectId, folder: string, path: string): string {
    mkdirSync(this.directory, { recursive: true, mode: 0o700 });
    const place = relative(folder, path).replace(ASIDE, "").replaceAll("/", "-");
    const name = `${timeName(this.clock.now())}-${projectId}-${place}`;
    const taken = new Set(this.#kept());
    let [free, number] = [name, 1];
    while (taken.has(free)) free = `${name}-${++number}`;
    const target = join(this.directory, free);
    renameSync(path, target);
    this.prune();
    return target;
  }

  /** Names of the kept files and folders, oldest first. */
  #kept(): string[] {
    return namesIn(this.directory)
      .filter((name) => KEPT.test(name))
      .sort();
  }
}

/** Paths that the native core set aside: in the folder of the project, and in the folders there. */
function setAsideIn(folder: string): string[] {
  const names = namesIn(folder);
  const below = names.flatMap((name) =>
    ASIDE.test(name) ? [] : namesIn(join(folder, name)).map((it) => join(name, it)),
  );
  return [...names, ...below].filter((name) => ASIDE.test(name)).map((name) => join(folder, name));
}

function namesIn(folder: string): string[] {
  return (statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false) ? readdirSync(folder) : [];
}

function bytesOf(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isDirectory() !== true) return stat?.size ?? 0;
  return readdirSync(path).reduce((sum, name) => sum + bytesOf(join(path, name)), 0);
}
