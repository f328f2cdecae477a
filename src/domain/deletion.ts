// Deletions: jobs that delete all memories of a project that meet conditions.

import type { DeletionId } from "./ids.ts";
import type { Json } from "./json.ts";
import type { MemoryScope } from "./memory-attributes.ts";

/** Which memories a deletion concerns: those that meet all conditions that are given. */
export interface DeletionConditions extends MemoryScope {
  /** A filter as the caller wrote it (filter.ts). */
  readonly filters?: Json;
}

/** A deletion, and how far it is. */
export interface Deletion {
  readonly id: DeletionId;
  /** The user that it is limited to; null if it concerns the whole project. */
  readonly userId: string | null;
  readonly status: "processing" | "completed" | "failed";
  /** Number of memories that met the conditions when it was asked for. */
  readonly matched: number;
  /** Number of memories deleted so far. */
  readonly deleted: number;
  /** Why it failed, as one public sentence; null unless it failed. */
  readonly error: string | null;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** Unix milliseconds. */
  readonly updatedAt: number;
}
