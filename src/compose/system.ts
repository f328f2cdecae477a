// Collects the sources of the operator's view of a server.

import { dataSizes } from "../adapters/embedded/data-sizes.ts";
import type { ThreadState } from "../domain/system.ts";
import { VERSION } from "../kit/version.ts";
import type { ModelRegistry } from "../models/registry.ts";
import type { Coordination } from "../ports/coordination.ts";
import type { SearchQueue } from "../services/search-queue.ts";
import { SystemService } from "../services/system.ts";
import { lastBackup } from "./last-backup.ts";
import type { Models } from "./models.ts";
import { serverWarnings } from "./server-warnings.ts";
import type { Storage } from "./storage.ts";
import type { Surroundings } from "./surroundings.ts";

/** Creates the service that reads the state of the server. */
export function createSystem(
  { config, clock }: Surroundings,
  uses: {
    readonly storage: Storage;
    readonly coordination: Coordination;
    readonly models: Pick<Models, "laneStatus">;
    readonly registry: Pick<ModelRegistry, "problems">;
    readonly queue: SearchQueue;
    readonly threads: () => readonly ThreadState[];
  },
): SystemService {
  const { storage, coordination, models, registry, queue, threads } = uses;
  const { memories, relations, activity } = storage.stores;
  return new SystemService({
    version: VERSION,
    threads,
    lanes: () =>
      models.laneStatus().map(({ name, status, restarts, rssBytes, provider, inFlight }) => {
        return { name, status, restarts, rssBytes, provider, inFlight };
      }),
    warnings: () => serverWarnings(models.laneStatus(), registry.problems()),
    searches: () => queue.load(),
    memories: () => memories.counts(),
    relations: () => relations.waiting(),
    recent: () => activity.recent(),
    hour: () => activity.hour(),
    sizes: async () => {
      const sizes = await dataSizes(config.dataDir);
      if (storage.databaseBytes === null) return sizes;
      return { ...sizes, stores: [{ name: "postgresql", bytes: await storage.databaseBytes() }, ...sizes.stores] };
    },
    isDiskFull: () => storage.disk.isFull,
    memory: async () => {
      return { rssBytes: process.memoryUsage.rss(), freeBytes: (await storage.freeSpace()).memoryBytes };
    },
    nodes: () => coordination.nodes(),
    lastBackupAt: () => lastBackup(config.dataDir),
    clock,
  });
}
