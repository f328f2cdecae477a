// What is there at once or comes later. An await costs a turn of the microtask queue even where there is nothing to wait for, and
// an HTTP answer that is a promise some 4 µs more than one that is there: what is read all the time stays without.

/** A value, or the promise of one. */
export type Eventually<T> = T | Promise<T>;

/** `next` of the value: at once when it is there. What `next` throws is thrown then, or rejects. */
export function andThen<T, U>(value: Eventually<T>, next: (value: T) => Eventually<U>): Eventually<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** What `work` gives, or what `mend` makes of the error that it threw or rejected with. */
export function orElse<T>(work: () => Eventually<T>, mend: (error: unknown) => T): Eventually<T> {
  try {
    const value = work();
    return value instanceof Promise ? value.catch(mend) : value;
  } catch (error) {
    return mend(error);
  }
}
