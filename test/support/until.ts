// Waits until a condition is true, with a time limit. Tests use this instead of sleeping.

/**
 * Time limit in milliseconds for whatever a test waits for. Only a failing test waits that long, so it allows for a
 * machine that does ten times as much beside the tests.
 */
export const WAIT_MS = 300_000;

/** Time limit of a test in milliseconds, which test/run.ts gives to all: more than three waits. */
export const TEST_TIMEOUT_MS = 1_000_000;

/**
 * Shortest and longest pause between two looks, in milliseconds; between them, a pause is this share of the time so
 * far. A look is often a request, and many tests wait at once, so frequent looks in a long wait would keep the others
 * from ending it.
 */
const PAUSE_MS = { least: 20, most: 250, share: 0.1 };

/**
 * Waits until `condition` returns something other than false, null or undefined, and returns that.
 * @throws Error with `what` if that takes longer than `timeoutMs`
 */
export async function until<Value>(
  what: string,
  condition: () => Value | false | null | undefined | Promise<Value | false | null | undefined>,
  timeoutMs = WAIT_MS,
): Promise<Value> {
  const startedAt = performance.now();
  for (;;) {
    const value = await condition();
    if (value !== false && value !== null && value !== undefined) return value;
    const passedMs = performance.now() - startedAt;
    if (passedMs > timeoutMs) throw new Error(`${what}: not within ${timeoutMs} ms`);
    await Bun.sleep(Math.min(PAUSE_MS.most, Math.max(PAUSE_MS.least, PAUSE_MS.share * passedMs)));
  }
}
