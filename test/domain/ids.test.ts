// Public ids: format and sort order.

import { describe, expect, test } from "bun:test";
import { isId, timeOrderedId } from "../../src/domain/ids.ts";
import { seeded } from "../support/seeded.ts";

const chance = seeded(7);
const bytes = () => Uint8Array.from({ length: 10 }, () => Math.floor(chance() * 256));

describe("timeOrderedId", () => {
  test("sorts by time, to the millisecond", () => {
    const times = [0, 1, 2, 999, 1_000, 1_800_000_000_000, 1_800_000_000_001, 2 ** 47];
    const ids = times.map((at) => timeOrderedId(at, bytes()));
    expect([...ids].sort()).toEqual(ids);
  });

  test("is a UUIDv7 in 26 characters of Crockford's base 32", () => {
    const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
    const id = timeOrderedId(1_800_000_000_000, new Uint8Array(10).fill(255));
    expect(id).toMatch(/^[0-9a-hjkmnp-tv-z]{26}$/);
    const value = [...id].reduce((sum, character) => sum * 32n + BigInt(alphabet.indexOf(character)), 0n);
    expect([value >> 80n, (value >> 76n) & 15n, (value >> 62n) & 3n]).toEqual([1_800_000_000_000n, 7n, 2n]);
  });

  test("differs by its random bytes", () => {
    expect(new Set(Array.from({ length: 1_000 }, () => timeOrderedId(5, bytes()))).size).toBe(1_000);
  });
});

describe("isId", () => {
  test("accepts its prefix and 26 characters of the alphabet, nothing else", () => {
    const id = `mem_${timeOrderedId(1, bytes())}`;
    expect(isId("mem", id)).toBeTrue();
    for (const other of [
      id.slice(0, -1),
      `${id}0`,
      id.toUpperCase(),
      `chunk_${id.slice(4)}`,
      ` ${id}`,
      `${id}\n`,
      "",
      "mem_",
    ]) {
      expect(isId("mem", other)).toBeFalse();
    }
    for (const letter of "ilou") expect(isId("mem", `mem_${letter.repeat(26)}`)).toBeFalse();
  });
});
