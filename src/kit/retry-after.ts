// The header `Retry-After` of HTTP.

/**
 * The wait that a header `Retry-After` asks for, in milliseconds: the header has a number of seconds or a date. null if
 * it is absent, malformed or in the past.
 * @param nowMs Unix milliseconds
 */
export function retryAfterMs(header: string | null | undefined, nowMs: number): number | null {
  if (header === null || header === undefined) return null;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - nowMs;
  return ms >= 0 ? ms : null;
}
