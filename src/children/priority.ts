// Scheduling priority of processes.

import { readdirSync } from "node:fs";
import { setPriority } from "node:os";
import type { Log } from "../kit/log.ts";

/**
 * Lowers the priority of a process with all of its threads. On Linux, each thread has a priority of its own, and a new
 * one gets that of the thread that starts it.
 * @param niceness 0 (no change) to 19 (lowest priority)
 */
export function lowerPriority(pid: number, niceness: number, log: Log): void {
  if (niceness === 0) return;
  try {
    setPriority(pid, niceness);
    for (const thread of otherThreadsOf(pid)) lowerThread(thread, niceness);
  } catch (error) {
    // A failure only affects speed: a child at normal priority still works. If the child has exited, its supervisor
    // handles that.
    log.warn({ err: error }, "child runs at normal priority");
  }
}

/** Ids of the other threads of a process on Linux. Elsewhere all threads have the priority of the process. */
function otherThreadsOf(pid: number): readonly number[] {
  if (process.platform !== "linux") return [];
  return readdirSync(`/proc/${pid}/task`)
    .map(Number)
    .filter((thread) => thread !== pid);
}

function lowerThread(thread: number, niceness: number): void {
  try {
    setPriority(thread, niceness);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ESRCH") return; // it has ended
    throw error;
  }
}
