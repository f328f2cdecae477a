// An index that only its opener uses: for searches in texts that belong to no project.

import type { IndexModel, IndexOf, ProjectIndex } from "./chunk-index.ts";

/** An index of one project whose id the opener chooses. */
export interface ScratchIndex extends IndexOf<ProjectIndex> {
  /** Closes the index and deletes its files. */
  close(): Promise<void>;
}

/** Opens an empty index for vectors of this model. */
export type OpenScratchIndex = (model: IndexModel) => Promise<ScratchIndex>;
