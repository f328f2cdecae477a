// Declares the gauges for operators: memories, those that wait for relations, changes of embedding models, graphs of
// vectors, open indexes, the processes that run models (lanes), and the memory of the server.

import type { IndexUsage } from "../adapters/embedded/shared/followed-index.ts";
import type { LaneStatus } from "../adapters/inference/lane-state.ts";
import type { Clock } from "../kit/clock.ts";
import type { Metrics } from "../metrics.ts";
import type { IndexMaintenance } from "../ports/chunk-index.ts";
import type { MemoryStore } from "../ports/memory-store.ts";
import type { ProjectModelStore } from "../ports/project-model-store.ts";
import type { RelationStore } from "../ports/relation-store.ts";

/**
 * Maximum age, in milliseconds, of cached numbers. They are cached because `/metrics` needs no key, and counting
 * memories visits each of them.
 */
const COUNTS_MS = 5_000;
/** The same for memories that wait for their relations. It is shorter, because they usually wait less than a second. */
const WAITING_MS = 250;

/** Declares the gauges. */
export function declareGauges(
  metrics: Metrics,
  parts: {
    readonly memories: Pick<MemoryStore, "counts">;
    readonly relations: Pick<RelationStore, "waiting">;
    readonly projectModels: Pick<ProjectModelStore, "list">;
    readonly laneStatus: () => readonly LaneStatus[];
    /** The open indexes of a node; null if all of them are always open. */
    readonly indexUsage: (() => IndexUsage) | null;
    readonly vectorIndexes: IndexMaintenance["vectorIndexes"];
    readonly clock: Clock;
  },
): void {
  const { memories, relations, projectModels, laneStatus, indexUsage, vectorIndexes, clock } = parts;
  const counts = atMostEvery(COUNTS_MS, clock, async () => memories.counts());
  metrics.gauge("mneme_memories", "Memories that are not deleted, by status.", ["status"], async () =>
    Object.entries(await counts()).map(([status, value]) => ({ labels: [status], value })),
  );
  const waiting = atMostEvery(WAITING_MS, clock, async () => relations.waiting());
  metrics.gauge(
    "mneme_relations_waiting",
    "Completed memories whose relations with others have not been looked for yet.",
    [],
    async () => [{ labels: [], value: await waiting() }],
  );
  const modelChanges = atMostEvery(COUNTS_MS, clock, async () => projectModels.list());
  metrics.gauge(
    "mneme_model_change_chunks",
    "Chunks of projects whose embedding model is being changed: with a vector of the new model, and without one.",
    ["project", "state"],
    async () =>
      (await modelChanges()).flatMap(({ projectId, change }) => {
        if (change?.state !== "building") return [];
        const missing = Math.max(0, (change.chunksTotal ?? 0) - change.chunksDone);
        return [
          { labels: [projectId, "done"], value: change.chunksDone },
          { labels: [projectId, "missing"], value: missing },
        ];
      }),
  );
  metrics.gauge(
    "mneme_vector_graph_chunks",
    "Chunks of open projects that have a graph (HNSW) of their vectors: in the graph, and not in it yet.",
    ["project", "state"],
    async () =>
      [...(await vectorIndexes())].flatMap(([projectId, { isGraphActive, build, vectorsMissing, graphChunks }]) =>
        isGraphActive || build !== null
          ? [
              { labels: [projectId, "done"], value: graphChunks },
              { labels: [projectId, "missing"], value: vectorsMissing },
            ]
          : [],
      ),
  );
  metrics.gauge(
    "mneme_vector_graph_searches",
    "Vector searches that the graph of an open project has answered since it was opened.",
    ["project"],
    async () =>
      [...(await vectorIndexes())]
        .filter(([, { isGraphActive }]) => isGraphActive)
        .map(([projectId, { graphSearches }]) => ({ labels: [projectId], value: graphSearches })),
  );
  if (indexUsage !== null) declareIndexUsage(metrics, indexUsage);
  metrics.gauge("mneme_lane_up", "Whether a process that runs the models is up.", ["lane", "provider"], () =>
    laneStatus().map(({ name, status, provider }) => ({
      labels: [name, provider ?? "none"],
      value: status === "up" ? 1 : 0,
    })),
  );
  metrics.gauge("mneme_lane_memory_bytes", "Resident memory of a process that runs the models.", ["lane"], () =>
    laneStatus().map(({ name, rssBytes }) => ({ labels: [name], value: rssBytes ?? 0 })),
  );
  metrics.gauge(
    "mneme_lane_gpu_fallback",
    "Whether a process that runs the models uses the CPU although a GPU was asked for.",
    ["lane"],
    () => laneStatus().map(({ name, gpuFallback }) => ({ labels: [name], value: gpuFallback === null ? 0 : 1 })),
  );
  metrics.gauge("mneme_lane_gpu_failures", "Failures of the GPU of a process since the server's start.", ["lane"], () =>
    laneStatus().map(({ name, gpuFailures }) => ({ labels: [name], value: gpuFailures })),
  );
  metrics.gauge("mneme_resident_memory_bytes", "Resident memory of the server itself.", [], () => [
    { labels: [], value: process.memoryUsage.rss() },
  ]);
}

function declareIndexUsage(metrics: Metrics, usage: () => IndexUsage): void {
  const one = (value: number) => [{ labels: [], value }];
  metrics.gauge("mneme_open_projects", "Projects whose index this node has open.", [], () => one(usage().projects));
  metrics.gauge("mneme_index_memory_bytes", "Estimated memory of the open indexes of this node.", [], () =>
    one(usage().bytes),
  );
  metrics.gauge("mneme_closed_projects", "Indexes that were closed since the start to save memory.", [], () =>
    one(usage().closed),
  );
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
