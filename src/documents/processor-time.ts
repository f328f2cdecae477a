// Measures processor time, so that limits for a document do not depend on the load of the machine.

import { type Clock, systemClock } from "../kit/clock.ts";

/** Processor time of this process so far, in milliseconds, over all threads. */
export function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** A clock of processor time. Its sleep uses the clock of the machine. */
export const processorClock: Clock = { now: processorMs, sleep: (ms, signal) => systemClock.sleep(ms, signal) };
