// Work that may lag by a minute, such as storing when keys were last used.

import type { Clock } from "../kit/clock.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { Log } from "../kit/log.ts";

/** How often the chores are done. */
const UPKEEP_MS = 60_000;

/** Does the chores every minute. Returns a function that ends this. */
export function startUpkeep(clock: Clock, log: Log, chores: readonly (() => Eventually<void>)[]): () => Promise<void> {
  const stop = new AbortController();
  const loop = async () => {
    while (!stop.signal.aborted) {
      await clock.sleep(UPKEEP_MS, stop.signal);
      try {
        for (const chore of chores) await chore();
      } catch (err) {
        log.warn({ err }, "the upkeep of the store failed; trying again in a minute");
      }
    }
  };
  const ended = loop();
  return () => {
    stop.abort();
    return ended;
  };
}
