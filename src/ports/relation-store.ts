// Relations between memories, and the jobs that look for them. Implemented by stores/, on SQLite and on PostgreSQL.
//
// Obligations of an implementation:
// - A relation is removed in the transaction that deletes one of its memories, records its expiry, or gives it to
//   another user or agent. New content, or another `occurredAt`, removes the relations that no person set.
// - `Memory.supersededBy` and `Memory.supersededPassages` follow from the active relations of the kind `supersedes`.
//   They change in the same transaction as the relations, and searches see the new values before its `run` resolves.
// - A memory gets a job in the transaction that completes it, so that a crash loses none. If two claims run at the same
//   time, a job goes to at most one of them. `finish` stores nothing for a job that was claimed again meanwhile, or
//   whose memory or other memories have changed.
// - When a memory becomes superseded, the deliveries of `memory.superseded` are written in the same transaction.

import type { MemoryId, MemoryKey, ProjectId } from "../domain/ids.ts";
import type { Memory, SupersededPassages } from "../domain/memory.ts";
import type { Superseding } from "../domain/project.ts";
import type { FoundRelation, Relation, RelationType } from "../domain/relation.ts";

/** A memory whose relations are to be found, under a lease. */
export interface RelationJob {
  readonly projectId: ProjectId;
  readonly memory: Memory;
  /** The setting of the project when the job was claimed. */
  readonly superseding: Superseding;
  /** Fencing token: the number of claims. */
  readonly attempt: number;
  /**
   * Whether the memory is only indexed again, or was completed before Mneme or its project looked for relations, so
   * that no event tells of them.
   */
  readonly isBacklog: boolean;
}

/** A job, and what it found. */
export interface EndedJob {
  readonly job: RelationJob;
  readonly found: readonly FoundRelation[];
}

/** Which jobs to claim. */
export interface RelationClaim {
  readonly limit: number;
  readonly leaseMs: number;
  /** Whether jobs with `isBacklog` are left out. */
  readonly skipsBacklog: boolean;
}

/** How a memory is superseded at another time. */
export interface Supersession {
  readonly supersededBy: MemoryId | null;
  readonly supersededPassages: SupersededPassages;
}

/** Which relations count. Times are Unix milliseconds. */
export interface SupersededAt {
  /** Only those whose newer memory happened by then. */
  readonly asOf?: number;
  /** Only those that existed then, with the passages of that time. */
  readonly knownAt?: number;
}

/** Relations of memories. */
export interface RelationStore {
  /**
   * Relations of a memory, newest first, at most `SHOWN_RELATIONS_MAX`.
   * @param knownAt Unix milliseconds: the relations that it had then; default: now
   */
  of(projectId: ProjectId, key: MemoryKey, knownAt?: number): Promise<readonly Relation[]>;
  /**
   * Sets what a person says of two completed memories of the same user and agent. Replaces all relations between them.
   * Returns false if a circle of superseding would close; the caller then undoes its transaction.
   * @param by id of the key of the person
   */
  set(
    projectId: ProjectId,
    own: MemoryKey,
    other: MemoryKey,
    type: RelationType | "none",
    by?: string | null,
  ): Promise<boolean>;
  /**
   * Forgets what a person said of two memories, and looks for relations of them again. False if no person said
   * anything.
   * @param by id of the key of the person
   */
  forget(projectId: ProjectId, own: MemoryKey, other: MemoryKey, by?: string | null): Promise<boolean>;
  /** How memories are superseded at another time. */
  supersededAt(
    projectId: ProjectId,
    keys: readonly MemoryKey[],
    at: SupersededAt,
  ): Promise<ReadonlyMap<MemoryKey, Supersession>>;

  /** Claims jobs, those of newly completed memories first. */
  claim(options: RelationClaim): Promise<readonly RelationJob[]>;
  /** Ends all leases of this node. Called at its start. */
  voidLeases(): Promise<void>;
  /** Stores what jobs found, and removes the jobs. */
  finish(ended: readonly EndedJob[]): Promise<void>;
  /** Lets the job be claimed again after `delayMs`. */
  retryLater(job: RelationJob, delayMs: number): Promise<void>;
  /** Number of memories whose relations have not been looked for. */
  waiting(): Promise<number>;
}
