// The clock. Only this file reads the system time, so that tests can use a clock of their own.

/** Length of a day in milliseconds. */
export const DAY_MS = 24 * 60 * 60 * 1000;

/** A clock: returns the current time in Unix milliseconds, and waits. */
export interface Clock {
  now(): number;
  /** Resolves after `ms`, or at once when `signal` aborts. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The system clock. */
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

/** Formats a time as ISO 8601 in UTC with milliseconds, like every timestamp in the API. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

const ISO_TIME =
  /^(\d{4})-(\d{2})-(\d{2})(?:T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

/**
 * Parses an ISO 8601 time with zone, or a date (its first instant in UTC), to Unix milliseconds; null for anything
 * else.
 */
export function parseIsoTime(text: string): number | null {
  const [, year, month, day] = ISO_TIME.exec(text) ?? [];
  // Date.parse accepts dates that do not exist: it turns 31 February into 3 March.
  const isDay = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
  const time = isDay ? Date.parse(text) : Number.NaN;
  return Number.isNaN(time) ? null : time;
}

/** Whether a time that `parseIsoTime` reads is a date without a time of day. */
export function isDateOnly(time: string): boolean {
  return !time.includes("T");
}
