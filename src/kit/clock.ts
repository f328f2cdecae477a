// Time: the only file that reads the machine's clock, so that tests can hand in their own.

/** Tells the time and waits. Times are Unix milliseconds. */
export interface Clock {
  now(): number;
  /** Resolves after `ms`, or at once when `signal` aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const finish = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", finish);
        resolve();
      };
      const timer = setTimeout(finish, ms);
      signal?.addEventListener("abort", finish, { once: true });
    }),
};

/** ISO 8601 in UTC with milliseconds, as every timestamp of the interface is written. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
