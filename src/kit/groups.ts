// Splits lists into groups of limited size.

/**
 * Splits items into groups of consecutive items whose sizes add up to at most `sizeMax`. A larger item is a group of
 * its own.
 */
export function* groupsWithin<Item>(
  items: Iterable<Item>,
  sizeMax: number,
  sizeOf: (item: Item) => number,
): Generator<readonly Item[]> {
  let group: Item[] = [];
  let size = 0;
  for (const item of items) {
    if (group.length > 0 && size + sizeOf(item) > sizeMax) {
      yield group;
      [group, size] = [[], 0];
    }
    group.push(item);
    size += sizeOf(item);
  }
  if (group.length > 0) yield group;
}
