// Counts the requests that test servers answer, so that a run can say how many came from real clients.

import { appendFileSync } from "node:fs";

/** File to which the counts are appended; undefined if nobody asked for them. */
const FILE = process.env.MNEME_TEST_REQUESTS;
/** Name in the metrics of requests to pages outside of /v1, such as `/ready` and `/metrics`. They are not counted. */
const PROBE = "page";

/**
 * Appends a line with the number of requests that a server has answered by operation, if MNEME_TEST_REQUESTS names a
 * file.
 * @param metricsOf returns the server's metrics page
 */
export async function recordRequests(metricsOf: () => Promise<string>): Promise<void> {
  if (FILE === undefined) return;
  const counts: Record<string, number> = {};
  for (const [, operation = "", count] of (await metricsOf()).matchAll(
    /^mneme_http_requests_total\{operation="(\w+)",[^}]*\} (\d+)$/gm,
  )) {
    if (operation !== PROBE) counts[operation] = (counts[operation] ?? 0) + Number(count);
  }
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  appendFileSync(FILE, `${JSON.stringify({ total, counts })}\n`);
}
