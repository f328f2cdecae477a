// Creates the cache of the models' results for recent questions, with its metrics.

import type { Config } from "../config.ts";
import type { Clock } from "../kit/clock.ts";
import type { Metrics } from "../metrics.ts";
import { RecentResults } from "../services/recent-results.ts";

const MIB = 1024 * 1024;

/** Creates the cache. Its size is the setting `query-cache`. */
export function createRecentResults(
  { queryCache }: Pick<Config, "queryCache">,
  { clock, metrics }: { readonly clock: Clock; readonly metrics: Metrics },
): RecentResults {
  const calls = metrics.counter(
    "mneme_query_cache_calls_total",
    "Calls of models for questions, by whether their result was known from an earlier one.",
    ["outcome"],
  );
  const recent = new RecentResults({
    bytesMax: Number.isFinite(queryCache) ? queryCache * MIB : 0,
    clock,
    count: (outcome) => calls(outcome).add(),
  });
  metrics.gauge("mneme_query_cache_bytes", "Memory of results of models for recent questions.", [], () => [
    { labels: [], value: recent.bytes },
  ]);
  return recent;
}
