// What the nodes of a service agree on. With the embedded store there is one process, so it is in memory.

import { InFlight } from "../account/idempotency.ts";
import { QueryQuota } from "../account/query-quota.ts";
import { RATE_WINDOW_MS } from "../account/rate-limits.ts";
import { SlidingWindow } from "../account/sliding-window.ts";
import { type Clock, systemClock } from "../kit/clock.ts";
import type { AccountStore } from "../ports/account-store.ts";
import type { Coordination } from "../ports/coordination.ts";
import type { PostgresCoordination } from "../stores/postgres/coordination.ts";

/**
 * Maximum number of keys, and of addresses without a key, whose requests are counted at the same time. Requests of
 * further keys and addresses are refused until one of the windows is empty.
 */
const COUNTED_KEYS_MAX = 100_000;
const COUNTED_ADDRESSES_MAX = 20_000;

/** What the only process of a service keeps in memory. */
export function localCoordination(accounts: Pick<AccountStore, "usage">, clock: Clock): Coordination {
  return {
    callers: new SlidingWindow({ windowMs: RATE_WINDOW_MS, clock, keysMax: COUNTED_KEYS_MAX }),
    failures: new SlidingWindow({ windowMs: RATE_WINDOW_MS, clock, keysMax: COUNTED_ADDRESSES_MAX }),
    quotas: new QueryQuota(accounts, clock),
    flights: new InFlight(),
    tasks: { isMine: () => true },
  };
}

/**
 * What several nodes agree on in their database.
 * @param clock times requests if it is not the clock of the system, for tests; otherwise the database server does
 */
export function sharedCoordination(postgres: PostgresCoordination, clock: Clock): Coordination {
  const { quotas, flights, tasks } = postgres;
  const now = clock === systemClock ? undefined : () => clock.now();
  return {
    callers: postgres.window("key", RATE_WINDOW_MS, now),
    failures: postgres.window("address", RATE_WINDOW_MS, now),
    ...{ quotas, flights, tasks },
  };
}
