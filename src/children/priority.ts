// Scheduling priority of child processes.

import { setPriority } from "node:os";
import type { Log } from "../kit/log.ts";

/** Lowers the priority of a process. @param niceness 0 (no change) to 19 (lowest priority) */
export function lowerPriority(pid: number, niceness: number, log: Log): void {
  if (niceness === 0) return;
  try {
    setPriority(pid, niceness);
  } catch (error) {
    // Only speed is affected: a child at normal priority still works, and the exit of a dead one is handled elsewhere.
    log.warn({ err: error }, "child runs at normal priority");
  }
}
