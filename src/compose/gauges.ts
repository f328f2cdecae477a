// Declares the gauges for operators: number of memories, state of the lanes, and memory used by the server.

import type { LaneStatus } from "../adapters/inference/lanes.ts";
import type { Clock } from "../kit/clock.ts";
import type { Metrics } from "../kit/metrics.ts";
import type { MemoryStore } from "../ports/memory-store.ts";

/**
 * Maximum age of the number of memories, in milliseconds. It is cached because `/metrics` needs no key and counting
 * visits each memory.
 */
const COUNTS_MS = 5_000;

/** Declares gauges for the number of memories, the lanes, and the memory used by the server. */
export function declareGauges(
  metrics: Metrics,
  parts: {
    readonly memories: Pick<MemoryStore, "counts">;
    readonly laneStatus: () => readonly LaneStatus[];
    readonly clock: Clock;
  },
): void {
  const { memories, laneStatus, clock } = parts;
  const counts = atMostEvery(COUNTS_MS, clock, async () => memories.counts());
  metrics.gauge("mneme_memories", "Memories that are not deleted, by status.", ["status"], async () =>
    Object.entries(await counts()).map(([status, value]) => ({ labels: [status], value })),
  );
  metrics.gauge("mneme_lane_up", "Whether a process that runs the models is up.", ["lane", "provider"], () =>
    laneStatus().map(({ name, status, provider }) => ({
      labels: [name, provider ?? "none"],
      value: status === "up" ? 1 : 0,
    })),
  );
  metrics.gauge("mneme_lane_memory_bytes", "Resident memory of a process that runs the models.", ["lane"], () =>
    laneStatus().map(({ name, rssBytes }) => ({ labels: [name], value: rssBytes ?? 0 })),
  );
  metrics.gauge("mneme_resident_memory_bytes", "Resident memory of the server itself.", [], () => [
    { labels: [], value: process.memoryUsage.rss() },
  ]);
}

// Caches a value: `read` is called again only if the last value is older than `ms` or the clock was set back.
function atMostEvery<T>(ms: number, clock: Clock, read: () => T): () => T {
  let last: { readonly value: T; readonly at: number } | null = null;
  return () => {
    const now = clock.now();
    if (last === null || now < last.at || now - last.at >= ms) last = { value: read(), at: now };
    return last.value;
  };
}
