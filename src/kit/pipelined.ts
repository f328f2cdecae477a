// Overlaps reading with using: while one item is used, the next one is read.

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
