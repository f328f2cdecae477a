// Waiting for something to become true, with a deadline: what tests do instead of sleeping.

/** How often the condition is looked at, in milliseconds. */
const LOOK_EVERY_MS = 20;

/**
 * Waits until `condition` gives something other than false, null or undefined, and returns that.
 * @throws Error naming `what` when `timeoutMs` pass first.
 */
export async function until<Value>(
  what: string,
  condition: () => Value | false | null | undefined | Promise<Value | false | null | undefined>,
  timeoutMs = 20_000,
): Promise<Value> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const value = await condition();
    if (value !== false && value !== null && value !== undefined) return value;
    if (performance.now() > deadline) throw new Error(`${what}: not within ${timeoutMs} ms`);
    await Bun.sleep(LOOK_EVERY_MS);
  }
}
