// Calls a function at most once, and keeps its result.

/** Returns a function that calls `make` the first time, and returns that result every time. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
