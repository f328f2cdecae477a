// Quarantine: keeps damaged files of the indexes for an examination, in `quarantine/` of the data directory. Everything
// in it is derived from the stores of record and can be deleted at any time.

import { mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import type { ProjectId } from "../../domain/ids.ts";
import type { Clock } from "../../kit/clock.ts";
import { isoTime } from "../../kit/clock.ts";

/** Maximum number of kept files and folders, and of their bytes. The newest ones stay, and at least one. */
const ENTRIES_MAX = 20;
const BYTES_MAX = 4 * 1024 * 1024 * 1024;

/** Name that the native core gives to a file or folder that it moved out of the way. */
const ASIDE = /\.damaged-\d+$/;
/** Name of a kept file: time in UTC, project, and the name in the project's folder. */
const KEPT = /^\d{8}T\d{6}\.\d{3}Z-prj_/;

/** Damaged files of the indexes of all projects. */
export class Quarantine {
  constructor(
    private readonly directory: string,
    private readonly clock: Pick<Clock, "now">,
  ) {}

  /**
   * Moves what the native core set aside in the folder of a project into the quarantine, also at earlier starts.
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

  #keep(projectId: ProjectId, folder: string, path: string): string {
    mkdirSync(this.directory, { recursive: true, mode: 0o700 });
    const time = isoTime(this.clock.now()).replaceAll(/[-:]/g, "");
    const name = `${time}-${projectId}-${relative(folder, path).replace(ASIDE, "").replaceAll("/", "-")}`;
    const taken = new Set(this.#kept());
    let [free, number] = [name, 1];
    while (taken.has(free)) free = `${name}-${++number}`;
    const target = join(this.directory, free);
    renameSync(path, target);
    this.#prune();
    return target;
  }

  /** Deletes the oldest entries above the limits. */
  #prune(): void {
    let bytes = 0;
    for (const [at, name] of this.#kept().toReversed().entries()) {
      const path = join(this.directory, name);
      bytes += bytesOf(path);
      if (at > 0 && (at >= ENTRIES_MAX || bytes > BYTES_MAX)) rmSync(path, { recursive: true, force: true });
    }
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
