// The time of day. Only this file asks the browser for it.

/** Milliseconds since 1970. */
export function nowMs(): number {
  return Date.now();
}

/** A time that is `ms` milliseconds from now, as the API writes times. */
export function timeIn(ms: number): string {
  return new Date(nowMs() + ms).toISOString();
}
