// Which of two memories is newer.

import { expect, test } from "bun:test";
import type { MemoryKey } from "../../src/domain/ids.ts";
import { isNewer } from "../../src/domain/relation.ts";

const dated = (key: bigint, createdAt: string, given: string | null = null) => ({
  key: key as MemoryKey,
  createdAt: Date.parse(createdAt),
  occurredAtGiven: given,
  occurredAt: given === null ? null : Date.parse(given),
});
const NOON = "2026-11-28T12:00:00.000Z";

test("the time when it happened decides, otherwise when it was stored, to the millisecond", () => {
  const [first, second] = [dated(1n, NOON), dated(2n, "2026-11-28T12:00:00.001Z")];
  expect([isNewer(second, first), isNewer(first, second)]).toEqual([true, false]);
  const earlier = dated(3n, "2026-11-28T13:00:00Z", "2026-11-28T11:59:59.999Z");
  expect([isNewer(earlier, first), isNewer(first, earlier)]).toEqual([false, true]);
});

test("a date without a time covers its day, and the later acceptance decides within it", () => {
  const day = dated(1n, NOON, "2026-11-28");
  expect(isNewer(dated(2n, NOON, "2026-11-28T00:00:01Z"), day)).toBe(true);
  expect(isNewer(day, dated(2n, NOON, "2026-11-28T23:59:59.999Z"))).toBe(false);
  expect(isNewer(dated(2n, NOON, "2026-11-29T00:00:00Z"), day)).toBe(true);
  expect(isNewer(dated(2n, NOON, "2026-11-27T23:59:59.999Z"), day)).toBe(false);
  expect(isNewer(dated(2n, NOON, "2026-11-28"), day)).toBe(true);
});

test("the later acceptance decides between equal times", () => {
  const [first, second] = [dated(1n, NOON), dated(2n, NOON)];
  expect([isNewer(second, first), isNewer(first, second), isNewer(first, first)]).toEqual([true, false, false]);
});
