// How long has a document been worked on? Counted in the time that the processor gave to this process, so that a machine that
// is busy with something else makes a document slow, and not unreadable.

import { type Clock, systemClock } from "../kit/clock.ts";

/** Milliseconds of processor time of this process so far, of all its threads. */
export function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Counts processor time; sleeps by the machine's clock. */
export const processorClock: Clock = { now: processorMs, sleep: (ms, signal) => systemClock.sleep(ms, signal) };
