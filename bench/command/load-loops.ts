// Load generators. An open loop sends requests at fixed times whether or not earlier ones are answered, as independent
// users do, and counts the latency of each from its scheduled time, so that a server that stalls cannot hide the
// requests that it would have kept waiting (coordinated omission). A closed loop has clients that wait for each answer.

/** How one request ended. */
export interface Sent {
  /** Whether the request was answered as it should be; if not, it was refused, or the connection failed. */
  readonly isAnswered: boolean;
  /** Time in milliseconds after which a refused client may try again; default: at once. */
  readonly retryAfterMs?: number;
}

/** Time for load generators, in milliseconds. */
export interface LoadClock {
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

/** Result of a load generator. */
export interface LoadResult {
  /** Latencies of the answered requests in milliseconds: in an open loop from the scheduled time. */
  readonly latencies: readonly number[];
  /** Number of requests that were refused or failed. */
  readonly failed: number;
  /** Requests that were answered per second. */
  readonly perSecond: number;
}

/**
 * Maximum number of requests in flight. Later ones wait in the load generator, and their latency includes that wait.
 */
const IN_FLIGHT_MAX = 256;

/** The scheduled times of an open loop in milliseconds from its start: `perSecond` requests per second, evenly. */
export function arrivalTimes(perSecond: number, seconds: number): readonly number[] {
  return Array.from({ length: Math.max(1, Math.floor(perSecond * seconds)) }, (_, at) => (at * 1_000) / perSecond);
}

/** Sends requests at their scheduled times and waits for all answers. */
export async function openLoop(
  arrivals: readonly number[],
  send: (n: number) => Promise<Sent>,
  clock: LoadClock,
): Promise<LoadResult> {
  const startedAt = clock.now();
  const latencies: number[] = [];
  let failed = 0;
  const inFlight = new Set<Promise<void>>();
  for (const [n, dueMs] of arrivals.entries()) {
    const earlyMs = startedAt + dueMs - clock.now();
    if (earlyMs > 0) await clock.sleep(earlyMs);
    while (inFlight.size >= IN_FLIGHT_MAX) await Promise.race(inFlight);
    const sending = send(n).then(({ isAnswered }) => {
      if (isAnswered) latencies.push(clock.now() - startedAt - dueMs);
      else failed++;
      inFlight.delete(sending);
    });
    inFlight.add(sending);
  }
  await Promise.all(inFlight);
  return { latencies, failed, perSecond: (latencies.length / (clock.now() - startedAt)) * 1_000 };
}

/**
 * Lets `clients` send one request after the other for `seconds`. A client that is refused waits as long as the answer
 * says.
 */
export async function closedLoop(
  { clients, seconds }: { readonly clients: number; readonly seconds: number },
  send: (n: number) => Promise<Sent>,
  clock: LoadClock,
): Promise<LoadResult> {
  const startedAt = clock.now();
  const endsAt = startedAt + seconds * 1_000;
  const latencies: number[] = [];
  let failed = 0;
  let next = 0;
  const client = async () => {
    while (clock.now() < endsAt) {
      const sentAt = clock.now();
      const { isAnswered, retryAfterMs = 0 } = await send(next++);
      if (isAnswered) latencies.push(clock.now() - sentAt);
      else failed++;
      if (retryAfterMs > 0) await clock.sleep(Math.min(retryAfterMs, Math.max(0, endsAt - clock.now())));
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return { latencies, failed, perSecond: (latencies.length / (clock.now() - startedAt)) * 1_000 };
}
