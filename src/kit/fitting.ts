// The first items of a list that fit into a size together.

/** The first items whose sizes together are at most `sizeMax`, but at least one, if there is any. */
export function fittingTogether<Item>(
  items: readonly Item[],
  sizeMax: number,
  sizeOf: (item: Item) => number,
): readonly Item[] {
  let sum = 0;
  const end = items.findIndex((item, position) => {
    sum += sizeOf(item);
    return position > 0 && sum > sizeMax;
  });
  return end === -1 ? items : items.slice(0, end);
}
