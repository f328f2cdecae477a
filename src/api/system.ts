// The operation that shows an operator the state of the server.

import { isoTime } from "../kit/clock.ts";
import type { SystemService, SystemState } from "../services/system.ts";
import { type Operation, reading } from "./operation.ts";
import { NoQuery } from "./schema/fields.ts";
import * as schema from "./schema/system.ts";
import { isoTimeOrNull, type View } from "./views.ts";

/** The operation GET /v1/system. */
export function systemOperation(system: SystemService): Operation {
  return reading({
    name: "getSystem",
    group: "System",
    summary: "Read the state of the server: processes, queues, sizes of the stores, disk, nodes, last backup.",
    method: "GET",
    path: "/v1/system",
    scope: "admin",
    isForConfinedKeys: false,
    query: NoQuery,
    answers: { 200: schema.System },
    read: async () => ({ status: 200, body: systemView(await system.read()) }),
  });
}

/** Converts the state of the server to the schema `System`. */
export function systemView(state: SystemState): View<typeof schema.System> {
  const {
    version,
    startedAt,
    threads,
    lanes,
    warnings,
    queue,
    lastMinute,
    lastHour,
    sizes,
    isDiskFull,
    memory,
    nodes,
  } = state;
  return {
    ...{ version, started_at: isoTime(startedAt), threads },
    lanes: lanes.map(({ rssBytes, inFlight, ...lane }) => ({ ...lane, rss_bytes: rssBytes, in_flight: inFlight })),
    warnings,
    queue: {
      searches_in_progress: queue.searches.inProgress,
      searches_waiting: queue.searches.waiting,
      memories_processing: queue.processing,
      memories_failed: queue.failed,
      relations_waiting: queue.relations,
    },
    ...{ last_minute: lastMinute, last_hour: lastHour },
    stores: sizes.stores,
    disk: { free_bytes: sizes.diskFreeBytes, total_bytes: sizes.diskTotalBytes, is_full: isDiskFull },
    memory: { rss_bytes: memory.rssBytes, free_bytes: memory.freeBytes },
    nodes: nodes.map(({ startedAt: started, seenAt, isUp, ...node }) => ({
      ...node,
      state: isUp ? "up" : "lost",
      ...{ started_at: isoTime(started), seen_at: isoTime(seenAt) },
    })),
    last_backup_at: isoTimeOrNull(state.lastBackupAt),
  };
}
