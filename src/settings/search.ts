// Settings of searches: how long they wait for their turn and for the reranker.

import { numberOrOff, seconds, setting } from "../kit/setting.ts";

/** Settings of searches. */
export const SEARCH_SETTINGS = {
  /** See `FairQueueOptions.patienceMs`. */
  searchPatienceMs: setting<number>(
    "search-patience",
    "SECONDS",
    "Longest wait of a search, question or embedding for its turn, if more come than the server can answer; then it is refused as `overloaded`",
    seconds(30, 0, 120),
  ),
  /** See `SearchBudgetOptions.budgetFactor`; Infinity if there is no budget. */
  searchBudget: setting<number>(
    "search-budget",
    "off|NUMBER",
    "Strict budget: refuse searches at once that would take longer than NUMBER times 100 ms in fast, 150 in hybrid, 300 in balanced, 800 in precise. `off`: they wait, see `search_patience`",
    numberOrOff(0.1, 100, Number.POSITIVE_INFINITY),
  ),
  /** See `SlowSearches`; Infinity if none is logged. */
  slowQueryMs: setting<number>(
    "slow-query",
    "off|NUMBER",
    "Milliseconds from which on a search is logged as slow, with its stages and without its words",
    numberOrOff(1, 600_000, 5_000),
  ),
  /** See `RecentResultsOptions.bytesMax`, in MiB; Infinity: nothing is kept. */
  queryCache: setting<number>(
    "query-cache",
    "off|NUMBER",
    "MiB of memory for what the models computed for the questions of the last ten minutes: one that is asked again takes no time of theirs. `off`: nothing is kept, for measurements",
    numberOrOff(1, 4_096, 16),
  ),
  /** See `RetrievalDependencies.rerankDeadlineMs`. */
  rerankDeadline: setting<number>(
    "rerank-deadline",
    "off|NUMBER",
    "Milliseconds after which a search in balanced or precise continues with what the reranker has read, and after which whether a question is answered is decided with what the reader has read. `off`: both read everything, so that results never depend on how busy the machine is",
    numberOrOff(1, 60_000, 2_000),
  ),
};
