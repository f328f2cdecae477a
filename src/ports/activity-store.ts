// What happens in projects, counted by hour and by day. Implemented by stores/, on SQLite and on PostgreSQL.
//
// Obligations of an implementation: what `note` counts, and which memories were completed, deleted and failed, is
// durable after `flush`; until then only this process knows it, and `list` includes it. Counts of several nodes add up.
// A change that is undone is not counted. Counts of a removed project do not exist.

import type { ActivityCounts, ActivityName, ActivityStep } from "../domain/activity.ts";
import type { ProjectId } from "../domain/ids.ts";
import type { HourCounts, RecentCounts } from "../domain/system.ts";

/** Counts of what happens. */
export interface ActivityStore {
  /** Counts something that happened just now. Stores nothing, so it takes no time. */
  note(projectId: ProjectId, name: ActivityName): void;
  /**
   * The steps with counts that begin between `from` and `to` (exclusive), oldest first. The one in progress has the
   * current length of the queue.
   */
  list(
    projectId: ProjectId,
    range: { readonly step: ActivityStep; readonly from: number; readonly to: number },
  ): Promise<readonly ActivityCounts[]>;
  /** What happened on this node in all projects in the last minute. */
  recent(): RecentCounts;
  /** What happened on this node in all projects, minute by minute. */
  hour(): HourCounts;
  /** Stores what was counted, and how many memories wait. Called every minute and before the store is closed. */
  flush(): Promise<void>;
  /** Removes steps that are no longer kept (`ACTIVITY_STEPS`). */
  prune(): Promise<void>;
}
