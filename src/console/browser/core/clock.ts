// The current time. Only this file reads the browser's clock.

/** The current time, in milliseconds since 1970. */
export function nowMs(): number {
  return Date.now();
}

/** The time in `ms` milliseconds, in the API's format (ISO 8601). */
export function timeIn(ms: number): string {
  return new Date(nowMs() + ms).toISOString();
}
