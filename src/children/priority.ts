// Scheduling priority of child processes.

import { setPriority } from "node:os";
import type { Log } from "../kit/log.ts";

/** Lowers the priority of a process. @param niceness 0 (no change) to 19 (lowest priority) */
export function lowerPriority(pid: number, niceness: number, log: Log): void {
  if (niceness === 0) return;
  try {
    setPriority(pid, niceness);
  } catch (error) {
    // A failure only affects speed: a child at normal priority still works. If the child has exited, its supervisor
    // handles that.
    log.warn({ err: error }, "child runs at normal priority");
  }
}
