// Creates the queue of searches, with its metrics.

import type { LaneStatus } from "../adapters/inference/lane-state.ts";
import type { Config } from "../config.ts";
import type { Clock } from "../kit/clock.ts";
import type { Metrics } from "../metrics.ts";
import type { Capacity } from "../services/fair-turns.ts";
import { SearchBudget } from "../services/search-budget.ts";
import { FairQueue, type SearchQueue } from "../services/search-queue.ts";
import type { Closers } from "./closers.ts";

/**
 * Number of units of work (`UNITS` in services/search-queue.ts) per lane that may be in progress before further work
 * waits: `alone` if one project has work, `shared` if several have. docs/decisions/077 has the measurements.
 */
const PER_LANE: Capacity = { alone: 16, shared: 2 };
/** The same for a lane on a GPU, which embeds up to 64 queries together. */
const PER_GPU_LANE: Capacity = { alone: 64, shared: 32 };
/**
 * Minimum number of lanes that are counted, so that the capacity is not zero while lanes start or are replaced.
 */
const LANES_MIN = 2;

/** Upper bounds of the buckets of waits, in seconds. */
const WAIT_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** Creates the queue of a server, which `closers` close. */
export function createSearchQueue(
  { searchPatienceMs: patienceMs, searchBudget: budgetFactor }: Pick<Config, "searchPatienceMs" | "searchBudget">,
  parts: { readonly laneStatus: () => readonly LaneStatus[]; readonly clock: Clock; readonly metrics: Metrics },
  closers: Closers,
): SearchQueue {
  const { laneStatus, clock, metrics } = parts;
  const waits = metrics.histogram(
    "mneme_search_wait_seconds",
    "Time for which searches and embeddings waited that had to wait for their turn.",
    WAIT_SECONDS,
    ["task"],
  );
  const refused = metrics.counter("mneme_searches_refused_total", "Searches and embeddings refused as overloaded.", [
    "task",
  ]);
  const onRefused = (task: string) => refused(task).add();
  const queue = new FairQueue({
    patienceMs,
    capacity: () => capacityOf(laneStatus()),
    clock,
    onWaited: (task, waitedMs) => waits(task).observe(waitedMs / 1_000),
    onRefused,
  });
  closers.add(() => queue.close());
  metrics.gauge("mneme_searches_in_progress", "Searches and embeddings that have their turn.", [], () => [
    { labels: [], value: queue.load().inProgress },
  ]);
  metrics.gauge("mneme_searches_waiting", "Searches and embeddings that wait for their turn.", [], () => [
    { labels: [], value: queue.load().waiting },
  ]);
  return Number.isFinite(budgetFactor) ? new SearchBudget({ budgetFactor, queue, onRefused }) : queue;
}

function capacityOf(lanes: readonly LaneStatus[]): Capacity {
  const up = lanes.filter(({ status }) => status === "up");
  const perLane = up.map(({ provider }) => (provider?.startsWith("cuda") ? PER_GPU_LANE : PER_LANE));
  while (perLane.length < LANES_MIN) perLane.push(PER_LANE);
  return {
    alone: perLane.reduce((sum, { alone }) => sum + alone, 0),
    shared: perLane.reduce((sum, { shared }) => sum + shared, 0),
  };
}
