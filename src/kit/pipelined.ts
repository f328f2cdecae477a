// Overlaps work on a sequence of items: items are read while earlier ones are used, or two are used at once.

/**
 * Reads the items one after the other, and uses what was read in the same order. The next item is read while the last
 * one is used, so two results are in memory at most. Ends at the first failure.
 */
export async function pipelined<Item, Read>(
  items: Iterable<Item>,
  read: (item: Item) => Promise<Read>,
  use: (read: Read) => Promise<void>,
): Promise<void> {
  let using: Promise<void> = Promise.resolve();
  try {
    for (const item of items) {
      const [result] = await Promise.all([read(item), using]);
      using = use(result);
    }
  } finally {
    await using;
  }
}

/** Calls `use` for each item, in order. The next call begins while the last one runs. Ends at the first failure. */
export async function overlapped<Item>(items: AsyncIterable<Item>, use: (item: Item) => Promise<void>): Promise<void> {
  let before: Promise<unknown> = Promise.resolve();
  let last = before;
  try {
    for await (const item of items) {
      [before, last] = [last, use(item)];
      void Promise.allSettled([last]); // its failure is thrown below
      await before;
    }
  } finally {
    await Promise.all([before, last]);
  }
}

/** Yields the items in order, and reads up to `itemsMax` of them ahead. Reading begins with this call. */
export function readAhead<Item>(items: AsyncIterable<Item>, itemsMax: number): AsyncIterable<Item> {
  const iterator = items[Symbol.asyncIterator]();
  const read = () => {
    const reading = iterator.next();
    void Promise.allSettled([reading]); // its failure is thrown where the item is used
    return reading;
  };
  const readings = Array.from({ length: itemsMax }, read);
  return (async function* () {
    try {
      for (let next = await readings.shift(); next !== undefined && next.done !== true; next = await readings.shift()) {
        readings.push(read());
        yield next.value;
      }
    } finally {
      await iterator.return?.();
    }
  })();
}
