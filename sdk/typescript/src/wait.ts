// Waits until a memory is searchable, or a job has ended.

import type { Job, Memory } from "./core/index.ts";
import { ProcessingError, WaitTimeoutError } from "./errors.ts";
import { sleep } from "./transport.ts";

/** Whether and how long to wait until a memory is searchable, or a job has ended. */
export interface WaitOptions {
  /** Waits until the memory is searchable, or the job has ended. Default: false. */
  readonly wait?: boolean;
  /** Longest wait in milliseconds. Default: 60,000. */
  readonly waitTimeoutMs?: number;
}

const WAIT_MS_MAX = 60_000;
/** First and longest pause between two looks, in milliseconds. It grows by half. A short text takes about 50 ms. */
const FIRST_PAUSE_MS = 40;
const PAUSE_MS_MAX = 1_000;

/** Looks at a memory until it is no longer being processed. @throws WaitTimeoutError if that takes too long */
export async function untilProcessed(
  memory: Memory,
  get: (id: string) => Promise<Memory>,
  { waitTimeoutMs = WAIT_MS_MAX }: WaitOptions,
  signal?: AbortSignal,
): Promise<Memory> {
  const endsAt = performance.now() + waitTimeoutMs;
  let latest = memory;
  for (let pauseMs = FIRST_PAUSE_MS; latest.status === "processing"; pauseMs = Math.min(pauseMs * 1.5, PAUSE_MS_MAX)) {
    const leftMs = endsAt - performance.now();
    if (leftMs <= 0) {
      throw new WaitTimeoutError(`${latest.id} is still being processed after ${waitTimeoutMs / 1_000} s.`, latest);
    }
    await sleep(Math.min(pauseMs, leftMs), signal);
    latest = await get(latest.id);
  }
  return latest;
}

/** Looks at a job until it has ended, or the time is over. Returns it as it is then. */
export async function untilEnded(
  job: Job,
  get: (id: string) => Promise<Job>,
  { waitTimeoutMs = WAIT_MS_MAX }: WaitOptions,
  signal?: AbortSignal,
): Promise<Job> {
  const endsAt = performance.now() + waitTimeoutMs;
  let latest = job;
  for (let pauseMs = FIRST_PAUSE_MS; latest.status === "processing"; pauseMs = Math.min(pauseMs * 1.5, PAUSE_MS_MAX)) {
    const leftMs = endsAt - performance.now();
    if (leftMs <= 0) return latest;
    await sleep(Math.min(pauseMs, leftMs), signal);
    latest = await get(latest.id);
  }
  return latest;
}

/** The memory. @throws ProcessingError if its processing failed */
export function searchable(memory: Memory): Memory {
  if (memory.status !== "failed") return memory;
  throw new ProcessingError(`${memory.id} could not be processed: ${memory.error?.message ?? "no reason"}`, memory);
}
