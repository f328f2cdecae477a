// What the nodes of a service agree on: rate limits, quotas, requests in progress, and who does which task. With the
// embedded store there is only one process, so it is in memory.

import { hostname } from "node:os";
import { InFlight } from "../account/idempotency.ts";
import { localMonthlyTokens } from "../account/monthly-tokens.ts";
import { QueryQuota } from "../account/query-quota.ts";
import { RATE_WINDOW_MS } from "../account/rate-limits.ts";
import { localDailyTokens } from "../account/running-tokens.ts";
import { SlidingWindow } from "../account/sliding-window.ts";
import type { Config } from "../config.ts";
import type { NodeIdentity } from "../domain/system.ts";
import { type Clock, systemClock } from "../kit/clock.ts";
import { VERSION } from "../kit/version.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type { Coordination } from "../ports/coordination.ts";
import type { LlmExtractionStore } from "../ports/llm-extraction-store.ts";
import type { PostgresCoordination } from "../stores/postgres/coordination.ts";

/**
 * Maximum number of keys, and of addresses without a key, whose requests are counted at the same time. Requests of
 * further keys and addresses are refused until one of the windows is empty.
 */
const COUNTED_KEYS_MAX = 100_000;
const COUNTED_ADDRESSES_MAX = 20_000;

/** Name, role and version of this node. */
export function identityOf({ role }: Pick<Config, "role">): NodeIdentity {
  return { name: hostname(), role, version: VERSION };
}

/** The coordination of the only process of a service, in memory. */
export function localCoordination(
  {
    accounts,
    extractions,
  }: {
    readonly accounts: Pick<AccountStore, "usage">;
    readonly extractions: Pick<LlmExtractionStore, "tokensToday">;
  },
  clock: Clock,
  identity: NodeIdentity,
): Coordination {
  const startedAt = clock.now();
  return {
    nodes: async () => [{ id: "local", ...identity, startedAt, seenAt: clock.now(), isUp: true }],
    callers: new SlidingWindow({ windowMs: RATE_WINDOW_MS, clock, keysMax: COUNTED_KEYS_MAX }),
    failures: new SlidingWindow({ windowMs: RATE_WINDOW_MS, clock, keysMax: COUNTED_ADDRESSES_MAX }),
    quotas: new QueryQuota(accounts, clock),
    monthlyTokens: localMonthlyTokens(accounts),
    dailyTokens: localDailyTokens(extractions),
    flights: new InFlight(),
    tasks: { isMine: () => true },
  };
}

/**
 * The coordination of several nodes, in their database.
 * @param clock the time of requests is that of the database server, unless a test passes another clock than the
 *   system's
 */
export function sharedCoordination(postgres: PostgresCoordination, clock: Clock): Coordination {
  const { quotas, monthlyTokens, dailyTokens, flights, tasks } = postgres;
  const now = clock === systemClock ? undefined : () => clock.now();
  return {
    callers: postgres.window("key", RATE_WINDOW_MS, now),
    failures: postgres.window("address", RATE_WINDOW_MS, now),
    ...{ quotas, monthlyTokens, dailyTokens, flights, tasks, nodes: () => postgres.nodes() },
  };
}
