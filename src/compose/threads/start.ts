// Starts the threads that answer requests, if there is more than one.

import type { RoutePattern } from "../../account/rate-limits.ts";
import type { SharedCount } from "../../kit/shared-count.ts";
import type { Closers } from "../closers.ts";
import type { Storage } from "../storage.ts";
import type { Surroundings } from "../surroundings.ts";
import { RequestThreads, threadCountFor } from "./request-threads.ts";
import type { SharedParts } from "./served-ports.ts";

/** Starts the threads, which `closers` end; null if the main thread answers requests. */
export async function startThreads(
  { config, log }: Surroundings,
  uses: {
    readonly storage: Storage;
    readonly shared: Omit<SharedParts, "stores" | "transactions" | "addNoted">;
    readonly routes: readonly RoutePattern[];
    /** Count that grows when models are added or removed, or a project chooses another one. */
    readonly modelChanges: SharedCount;
    readonly script: string | undefined;
  },
  closers: Closers,
): Promise<RequestThreads | null> {
  const { storage, shared, routes, modelChanges, script } = uses;
  const { stores, transactions, readingThreads } = storage;
  const count = readingThreads === null ? 1 : (config.httpThreads ?? threadCountFor());
  if (readingThreads === null || count === 1) return null;
  const { webhookAllow: _, ...sent } = config;
  const start = { config: sent, routes, changes: readingThreads.changes.memory, modelChanges: modelChanges.memory };
  const parts = { ...shared, stores, transactions, addNoted: readingThreads.addNoted };
  const threads = await RequestThreads.start({ count, start, parts, log, ...(script !== undefined && { script }) });
  closers.add(() => threads.close());
  return threads;
}
