// Messages of a run of `mneme reindex` about its progress and results.

import type { ProjectId } from "./ids.ts";

/** How far a run is. */
interface ReindexProgress {
  readonly type: "progress";
  readonly memories_done: number;
  readonly memories_total: number;
}

/** What became of the memories of a project that were completed when its turn came. */
export interface ReindexResult {
  readonly type: "project";
  readonly project_id: ProjectId;
  readonly memories: number;
  /** Memories whose parts were rebuilt. */
  readonly rebuilt: number;
  /** Memories that were changed or deleted meanwhile, which rebuilds or removes their parts anyway. */
  readonly changed: number;
  /** Memories that lacked parts of the index, and were indexed by ingestion. */
  readonly ingested: number;
  /** Memories that keep their parts, because this version would cut their texts otherwise, or cannot prepare them. */
  readonly kept: number;
}

/** A message of a run. */
export type ReindexEvent = ReindexProgress | ReindexResult;
