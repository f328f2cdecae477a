// Runs tasks that may be up to a minute late, such as storing when keys were last used.

import type { Clock } from "../kit/clock.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { Log } from "../kit/log.ts";

/** Milliseconds between two runs of the tasks. */
const UPKEEP_MS = 60_000;

/** Runs the tasks every minute. Returns a function that stops this and waits for a task that is running. */
export function startUpkeep(clock: Clock, log: Log, chores: readonly (() => Eventually<void>)[]): () => Promise<void> {
  const stop = new AbortController();
  const loop = async () => {
    while (!stop.signal.aborted) {
      await clock.sleep(UPKEEP_MS, stop.signal);
      if (stop.signal.aborted) return;
      for (const chore of chores) {
        try {
          await chore();
        } catch (err) {
          log.warn({ err }, "a periodic chore failed; it runs again in a minute");
        }
      }
    }
  };
  const ended = loop();
  return () => {
    stop.abort();
    return ended;
  };
}
