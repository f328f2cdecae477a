// Splitting lists into groups of limited size.

import { expect, test } from "bun:test";
import { groupsWithin } from "../../src/kit/groups.ts";

const groups = (sizes: readonly number[]) => [...groupsWithin(sizes, 10, (size) => size)];

test("groups are filled up to the limit, in order", () => {
  expect(groups([4, 6, 1, 9, 1])).toEqual([[4, 6], [1, 9], [1]]);
  expect(groups([4, 7])).toEqual([[4], [7]]);
});

test("an item over the limit is a group of its own", () => {
  expect(groups([1, 11, 1])).toEqual([[1], [11], [1]]);
});

test("no items make no groups", () => {
  expect(groups([])).toEqual([]);
});
