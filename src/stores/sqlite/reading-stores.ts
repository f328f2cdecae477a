// The stores of a thread that reads on a connection of its own. Another thread has the connection that writes, and
// makes the changes.

import { stepOf } from "../../domain/activity.ts";
import { invariant } from "../../domain/fault.ts";
import type { Clock } from "../../kit/clock.ts";
import { SharedCount } from "../../kit/shared-count.ts";
import type { Stores } from "../../ports/transactions.ts";
import { ActivityNotes, type NotedCount } from "../activity-notes.ts";
import type { StoreContext } from "../context.ts";
import { type KeyLastUses, type KeyUse, noteUse } from "../rows/key.ts";
import { systemRandom } from "../rows/random.ts";
import { storesOn } from "../stores.ts";
import { type CallStore, routed } from "../transactions.ts";
import { SqliteDeliveryQueue } from "./delivery-queue.ts";
import { SqliteEngine } from "./engine.ts";
import { SqliteKeyAccess } from "./key-access.ts";
import { openReader } from "./open-database.ts";
import { SqliteSession } from "./session.ts";
import { WriteQueue } from "./write-queue.ts";

/** Options of the stores of a reading thread. */
export interface ReadingStoreOptions {
  readonly path: string;
  readonly clock: Clock;
  /** Buffer that it shares with the thread that writes: the count of changes (`SqliteStores.changes`). */
  readonly changes: SharedArrayBuffer;
  /** Runs one changing method of a store where the writing connection is. */
  readonly call: CallStore;
}

/** Notes of requests that no thread has stored yet: last uses of keys, and counts of activity. */
export interface Noted {
  readonly lastUses: readonly (readonly [key: bigint, use: KeyUse])[];
  readonly activity: readonly NotedCount[];
}

/** Stores of a reading thread. */
export interface ReadingStores extends Stores {
  /** Returns and removes the notes since the last call, for the thread that writes; null if there are none. */
  takeNoted(): Noted | null;
  close(): void;
}

/**
 * Opens the stores on a read-only connection.
 * @throws StoreError if the file cannot be used
 */
export function openReadingStores({ path, clock, changes, call }: ReadingStoreOptions): ReadingStores {
  const reader = openReader({ path, changes: new SharedCount(changes) });
  const lastUses: KeyLastUses = new Map();
  const activity = new ActivityNotes();
  const context: StoreContext = {
    ...{
      clock,
      random: systemRandom,
      nodeId: "",
      lastUses,
      activity,
      engine: new SqliteEngine(reader, new WriteQueue()),
    },
    newWebhookSecret: () => invariant(false, "a reading thread creates no webhooks") as never,
    noteErasure: () => invariant(false, "a reading thread erases nothing"),
  };
  const session = new SqliteSession(reader);
  const reading = storesOn(session, context, {
    access: new SqliteKeyAccess(reader, session, context),
    deliveries: new SqliteDeliveryQueue(session, new Map()),
  });
  return {
    ...routed(reading, call),
    takeNoted: () => {
      const noted = { lastUses: [...lastUses], activity: activity.all() };
      if (noted.lastUses.length === 0 && noted.activity.length === 0) return null;
      lastUses.clear();
      activity.remove(noted.activity);
      return noted;
    },
    close: () => reader.close(),
  };
}

/** Adds what another thread has noted to the notes of the thread that stores them. */
export function addNoted(
  { lastUses, activity, clock }: Pick<StoreContext, "lastUses" | "activity" | "clock">,
  { lastUses: uses, activity: counts }: Noted,
): void {
  for (const [key, use] of uses) if (use.at >= (lastUses.get(key)?.at ?? 0)) noteUse(lastUses, key, use);
  const now = clock.now();
  const thisHour = stepOf("hour", now);
  for (const { project, name, hour, value } of counts) {
    activity.add(project, name, hour === thisHour ? now : hour, value);
  }
}
