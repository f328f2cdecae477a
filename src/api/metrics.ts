// Request metrics: number and duration of requests by operation and status. app.ts calls this when a response has
// ended, and operation-runner.ts for calls within the server; src/metrics.ts renders the metrics page.

import type { Counter, Histogram, Metrics } from "../metrics.ts";

/**
 * Upper bounds of the histogram buckets, in seconds. They are chosen so that a read (1 to 5 ms), a fast search (10 ms),
 * a balanced one (150 ms) and an answer of a language model (seconds) lie in different buckets.
 */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Counts answered requests. */
export class RequestMetrics {
  readonly #counterOf: (operation: string, status: string) => Counter;
  readonly #durationsOf: (operation: string) => Histogram;
  readonly #byOperation = new Map<string, { readonly durations: Histogram; readonly counters: Map<number, Counter> }>();

  /** @throws Error if `metrics` already has request metrics. */
  constructor(metrics: Metrics) {
    this.#counterOf = metrics.counter("mneme_http_requests_total", "Requests answered.", ["operation", "status"]);
    this.#durationsOf = metrics.histogram(
      "mneme_http_request_duration_seconds",
      "Time from the arrival of a request until its answer is made, for a stream until it has ended.",
      SECONDS,
      ["operation"],
    );
  }

  /**
   * Counts one request whose answer has ended. Takes two look-ups, about 0.05 µs.
   * @param operationName the name of an operation, or one of a few fixed words for other requests; never a path
   * @param ms since the request arrived
   */
  observe(operationName: string, status: number, ms: number): void {
    let known = this.#byOperation.get(operationName);
    if (known === undefined) {
      known = { durations: this.#durationsOf(operationName), counters: new Map() };
      this.#byOperation.set(operationName, known);
    }
    let counter = known.counters.get(status);
    if (counter === undefined) {
      counter = this.#counterOf(operationName, String(status));
      known.counters.set(status, counter);
    }
    counter.add();
    known.durations.observe(ms / 1000);
  }
}
