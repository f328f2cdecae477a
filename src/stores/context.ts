// Options and hooks that all stores share.

import type { ProjectId } from "../domain/ids.ts";
import type { JsonObject } from "../domain/json.ts";
import type { Memory } from "../domain/memory.ts";
import type { Clock } from "../kit/clock.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { VisibleMemory } from "../ports/chunk-index.ts";
import type { ActivityNotes } from "./activity-notes.ts";
import type { StoreEngine } from "./engine.ts";
import type { KeyLastUses } from "./rows/key.ts";
import type { RandomBytes } from "./rows/random.ts";

/** Functions that stores call after commits. All of them are optional. */
export interface StoreHooks {
  /** Called after the commit of new webhook deliveries. Must not throw. */
  readonly onDeliveries?: () => void;
  /** Called after a commit that changed which memories supersede these, so that searches use the change. */
  readonly onSuperseded?: (projectId: ProjectId, memories: readonly VisibleMemory[]) => Eventually<void>;
  /** Called after the commit of new jobs that look for relations. Must not throw. */
  readonly onRelationJobs?: () => void;
}

/** Options of all stores. */
export interface StoreContext extends StoreHooks {
  readonly clock: Clock;
  /** Id of this node. Leases that it took before it was started again are void. */
  readonly nodeId: string;
  readonly random: RandomBytes;
  /** Creates a webhook secret `whsec_…` from random bytes. */
  readonly newWebhookSecret: (random: RandomBytes) => string;
  /** The `data` of an event: the API's Memory without `content`. Without it, no events are recorded. */
  readonly describe?: (memory: Memory) => JsonObject;
  /** Last uses of keys that `flush` has not stored yet. */
  readonly lastUses: KeyLastUses;
  /** Counts of activity that are not stored yet. */
  readonly activity: ActivityNotes;
  /** Called in each transaction that erases rows for good, so that traces of them are removed later (`eraseTraces`). */
  readonly noteErasure: () => void;
  readonly engine: StoreEngine;
}
