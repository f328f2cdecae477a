// Functions for values that are plain or promises. An `await` costs a microtask turn even for a plain value, and an
// HTTP response that is a promise costs about 4 µs more. Code on hot paths avoids this cost with these functions.

/** A value, or the promise of one. */
export type Eventually<T> = T | Promise<T>;

/** Applies `next` to the value: at once if it is a plain value, otherwise when the promise resolves. */
export function andThen<T, U>(value: Eventually<T>, next: (value: T) => Eventually<U>): Eventually<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/**
 * Waits for a value for at most `ms` milliseconds of real time, which may be infinite.
 * @throws Error with `message` after that time. The work behind the value goes on.
 */
export async function within<T>(value: Eventually<T>, ms: number, message: string): Promise<T> {
  if (ms === Number.POSITIVE_INFINITY) return value;
  const { promise: overdue, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(message)), ms);
  try {
    return await Promise.race([value, overdue]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the result of `work`, or `recover(error)` if it throws or rejects. */
export function orElse<T>(work: () => Eventually<T>, recover: (error: unknown) => Eventually<T>): Eventually<T> {
  try {
    const value = work();
    return value instanceof Promise ? value.catch(recover) : value;
  } catch (error) {
    return recover(error);
  }
}
