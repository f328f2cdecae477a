// The part of the machine that this process may use: the container's share, or the whole machine.

import { existsSync, readFileSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";

/** Folder with the limits of the container (cgroup v2). */
const CGROUP = "/sys/fs/cgroup";

/** Cores and memory that this process may use. */
export interface MachineShare {
  readonly cores: number;
  readonly memoryBytes: number;
}

/**
 * Reads the limits of the container. Where there are none, the machine's size counts.
 * @param cgroup folder of the container's control group; default: that of this process
 */
export function machineShare(cgroup: string = CGROUP): MachineShare {
  return {
    cores: Math.min(availableParallelism(), coresOfContainer(cgroupText("cpu.max", cgroup))),
    memoryBytes: Math.min(totalmem(), memoryOfContainer(cgroupText("memory.max", cgroup))),
  };
}

/** The text of a file of the container's control group. Empty if there is none, as on systems other than Linux. */
export function cgroupText(name: string, cgroup: string = CGROUP): string {
  const path = `${cgroup}/${name}`;
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

// `QUOTA PERIOD` in microseconds, or `max PERIOD`. Half a core counts as one.
function coresOfContainer(text: string): number {
  const [, quota, period] = /^(\d+) (\d+)$/m.exec(text) ?? [];
  if (quota === undefined || period === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(1, Math.round(Number(quota) / Number(period)));
}

function memoryOfContainer(text: string): number {
  const bytes = Number.parseInt(text, 10);
  return Number.isNaN(bytes) ? Number.POSITIVE_INFINITY : bytes;
}
