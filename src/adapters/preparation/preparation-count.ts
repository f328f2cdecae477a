// How many processes may prepare texts.

import type { MachineShare } from "../../kit/machine-share.ts";

/**
 * Number of cores of the machine per process. A process uses one core, and prepares about 2,000 short texts per second;
 * to keep up, models and index need the other cores.
 */
const CORES_PER_PROCESS = 4;
/** Memory of the machine per process, which takes 110 MB and the texts. */
const MACHINE_BYTES_PER_PROCESS = 4 * 2 ** 30;
/** More processes would prepare more texts than one thread publishes. */
const PROCESSES_MAX = 4;

/** Returns the largest number of preparation processes, at least one. The others start only when they are needed. */
export function preparationCountFor({ cores, memoryBytes }: MachineShare): number {
  const fitting = Math.min(cores / CORES_PER_PROCESS, memoryBytes / MACHINE_BYTES_PER_PROCESS, PROCESSES_MAX);
  return Math.max(1, Math.floor(fitting));
}
