// How a child leaves the processor to those who wait for an answer.

import { setPriority } from "node:os";
import type { Log } from "../kit/log.ts";

/** @param niceness 0 to 19: larger yields the processor to others. */
export function yieldProcessor(pid: number, niceness: number, log: Log): void {
  if (niceness === 0) return;
  try {
    setPriority(pid, niceness);
  } catch (error) {
    // Only speed is at stake: a child at normal priority still works, and one that died already is seen by its exit.
    log.warn({ err: error }, "child runs at normal priority");
  }
}
