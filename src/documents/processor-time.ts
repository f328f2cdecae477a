// Measures processor time, so that limits for a document do not depend on the load of the machine.

import { type Clock, systemClock } from "../kit/clock.ts";

/** Processor time that all threads of this process have used so far, in milliseconds. */
export function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** A clock that measures processor time. Its `sleep` waits by the clock of the machine. */
export const processorClock: Clock = { now: processorMs, sleep: (ms, signal) => systemClock.sleep(ms, signal) };
