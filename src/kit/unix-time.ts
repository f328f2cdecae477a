// Unix times, whose unit must be guessed from their size.

/** Numbers below this are taken for seconds, others for milliseconds. It is the year 5138 in seconds, 1973 in ms. */
const MILLISECONDS_MIN = 1e11;

/** Converts a Unix time in seconds or milliseconds to milliseconds. */
export function unixMilliseconds(time: number): number {
  return time < MILLISECONDS_MIN ? time * 1000 : time;
}
