// Memory and processor time of another process, from proc(5).

import { readFileSync } from "node:fs";

/** Page size in bytes of x86-64 and of common arm64 kernels. */
const PAGE_BYTES = 4096;
/** Number of clock ticks per second in proc(5); the kernel's interface fixes it. */
const TICKS_PER_SECOND = 100;

/** Resident memory of a process in bytes; 0 where proc(5) does not exist or the process is gone. */
export function residentBytes(pid: number): number {
  return Number(read(pid, "statm")?.split(" ")[1] ?? 0) * PAGE_BYTES;
}

/**
 * Processor time of a process and all its threads, in milliseconds; 0 where proc(5) does not exist or the process is
 * gone.
 */
export function processorMs(pid: number): number {
  // The fields are counted from the last parenthesis: the second field is the program's name in parentheses, which may
  // contain any character.
  const fields = read(pid, "stat")?.split(") ").at(-1)?.split(" ") ?? [];
  return ((Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * 1000) / TICKS_PER_SECOND;
}

function read(pid: number, file: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    // The system is not Linux, or the process has just ended; the supervisor handles its exit.
    return null;
  }
}
