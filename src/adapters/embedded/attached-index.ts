// The searches of a JavaScript thread that has not opened the index itself. The core has each project once; this thread
// gets further handles of it. Only the thread that opened the projects changes and closes them.

import { join } from "node:path";
import { invariant } from "../../domain/fault.ts";
import type { ProjectId } from "../../domain/ids.ts";
import type { IndexOf, SearchIndex } from "../../ports/chunk-index.ts";
import { addon } from "../native/addon.ts";
import type { NativeIndex } from "../native/addon-types.ts";
import { RecentPassages } from "./recent-passages.ts";
import { EmbeddedSearchIndex, type SearchIndexDependencies } from "./search-index.ts";

/** Options of an attached index. */
export interface AttachedIndexOptions extends Omit<SearchIndexDependencies, "recentPassages"> {
  /** Folder with one folder per project. */
  readonly directory: string;
  /**
   * Asks the thread that has the index to open a project.
   * @throws Fault `project_not_found` if the project was dropped
   */
  readonly open: (id: ProjectId) => Promise<void>;
  /** Called before a project is used. */
  readonly beforeUse: (id: ProjectId) => Promise<void>;
}

interface Attached {
  readonly native: NativeIndex;
  readonly index: EmbeddedSearchIndex;
}

/** Searches in projects that another thread of this process has open. */
export class AttachedIndex implements IndexOf<SearchIndex> {
  readonly #options: AttachedIndexOptions;
  readonly #recentPassages = new RecentPassages();
  readonly #projects = new Map<ProjectId, Attached>();

  constructor(options: AttachedIndexOptions) {
    this.#options = options;
  }

  async project(id: ProjectId): Promise<EmbeddedSearchIndex> {
    await this.#options.beforeUse(id);
    const known = this.#projects.get(id);
    if (known?.native.isOpen === true) return known.index;
    this.#projects.delete(id);
    const { directory, open, beforeUse: _, ...reports } = this.#options;
    const folder = join(directory, id);
    let native = addon().attachProject(folder);
    if (native === null) {
      await open(id);
      native = addon().attachProject(folder);
    }
    invariant(native, "a project that another thread has opened can be attached");
    const index = new EmbeddedSearchIndex(id, native, { ...reports, recentPassages: this.#recentPassages });
    this.#projects.set(id, { native, index });
    return index;
  }

  current(id: ProjectId): Promise<EmbeddedSearchIndex> {
    return this.project(id);
  }
}
