// Memory and processor time of another process, and how long it waited for a processor, from proc(5).

import { readFileSync } from "node:fs";

/** Page size in bytes of x86-64 and of common arm64 kernels. */
const PAGE_BYTES = 4096;
/** Number of clock ticks per second in proc(5); the kernel's interface fixes it. */
const TICKS_PER_SECOND = 100;

/** A process that waited less than this for a processor was not starved: an idle process waits a little, too. */
const WAIT_MS_MIN = 500;

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

/**
 * Time in milliseconds during which the main thread of a process was ready to run and waited for a processor; 0 where
 * proc(5) or its `schedstat` does not exist, or the process is gone.
 */
function processorWaitMs(pid: number): number {
  return Number(read(pid, "schedstat")?.split(" ")[1] ?? 0) / 1e6;
}

/** How long a process ran and waited for a processor since its start, in milliseconds. */
export interface ProcessUsage {
  ranMs(pid: number): number;
  waitedMs(pid: number): number;
}

const SYSTEM_USAGE: ProcessUsage = { ranMs: processorMs, waitedMs: processorWaitMs };

/**
 * Decides at the end of a time limit whether a child process gets more time because other processes used the
 * processors. It gets more time if it waited for a processor longer than it ran, and has processor time left. A time
 * limit is meant for processes that hang.
 */
export class StarvationCheck {
  readonly #pid: number;
  readonly #usage: ProcessUsage;
  readonly #processorMsMax: number;
  #period: { readonly ranMs: number; readonly waitedMs: number };

  /**
   * @param processorMsMax processor time, from now on, with which the work certainly ends, in milliseconds
   * @param usage replaced in tests, to simulate a starved process
   */
  constructor(pid: number, processorMsMax: number, usage = SYSTEM_USAGE) {
    this.#pid = pid;
    this.#usage = usage;
    this.#period = this.#now();
    this.#processorMsMax = this.#period.ranMs + processorMsMax;
  }

  /** Whether the process was starved since the last call. False for a process that hangs or is gone. */
  wasStarved(): boolean {
    const before = this.#period;
    this.#period = this.#now();
    const waitedMs = this.#period.waitedMs - before.waitedMs;
    const hasWaitedLonger = waitedMs > this.#period.ranMs - before.ranMs;
    return hasWaitedLonger && waitedMs > WAIT_MS_MIN && this.#period.ranMs < this.#processorMsMax;
  }

  #now() {
    return { ranMs: this.#usage.ranMs(this.#pid), waitedMs: this.#usage.waitedMs(this.#pid) };
  }
}

function read(pid: number, file: string): string | null {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    // The system is not Linux, or the process has just ended; the supervisor handles its exit.
    return null;
  }
}
