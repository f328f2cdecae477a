// Public ids of chunks: their format, and that they reveal nothing of the keys.

import { describe, expect, test } from "bun:test";
import { ChunkIds, PROJECT_SECRET_BYTES } from "../../src/domain/chunk-ids.ts";
import { type ChunkId, type ChunkKey, isId } from "../../src/domain/ids.ts";
import { seeded } from "../support/seeded.ts";

const chance = seeded(11);
const secret = () => Uint8Array.from({ length: PROJECT_SECRET_BYTES }, () => Math.floor(chance() * 256));
const counted = Array.from({ length: 1_000 }, (_, at) => BigInt(at + 1) as ChunkKey);

describe("ids of chunks", () => {
  test("are well formed and different, over the whole range of u64", () => {
    const ids = new ChunkIds(secret());
    const keys = [...counted, 2n ** 32n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 1n] as ChunkKey[];
    const made = keys.map((key) => ids.of(key));
    for (const id of made) expect(isId("chunk", id)).toBeTrue();
    expect(new Set(made).size).toBe(keys.length);
  });

  test("are the same each time, in any order, and for another instance with the same secret", () => {
    const shared = secret();
    const [one, other] = [new ChunkIds(shared), new ChunkIds(shared)];
    const made = counted.map((key) => one.of(key));
    expect(counted.toReversed().map((key) => other.of(key))).toEqual(made.toReversed());
    expect(counted.map((key) => one.of(key))).toEqual(made);
  });

  test("are AES-128 of the key as a big-endian number", () => {
    // expected value: openssl enc -aes-128-ecb -nopad, then base 32
    const ids = new ChunkIds(Buffer.from("2b7e151628aed2a6abf7158809cf4f3c", "hex"));
    expect(ids.of(1n as ChunkKey)).toBe("chunk_2q29ym0d5hqtztxx36q73q4vy6" as ChunkId);
  });

  test("of two secrets have nothing in common", () => {
    const [one, other] = [new ChunkIds(secret()), new ChunkIds(secret())];
    const made = new Set(counted.map((key) => one.of(key)));
    expect(counted.filter((key) => made.has(other.of(key)))).toEqual([]);
  });

  test("of successive keys are in no order and share no beginning", () => {
    const ids = new ChunkIds(secret());
    const made = counted.map((key) => ids.of(key));
    const rising = made.filter((id, at) => at > 0 && id > (made[at - 1] ?? "")).length;
    expect(rising).toBeGreaterThan(440); // binomial: 499.5 ± 16
    expect(rising).toBeLessThan(560);
    expect(new Set(made.map((id) => id.slice(0, 12))).size).toBe(made.length);
  });

  test("a secret of another length is refused", () => {
    for (const length of [0, PROJECT_SECRET_BYTES - 1, PROJECT_SECRET_BYTES + 1]) {
      expect(() => new ChunkIds(new Uint8Array(length))).toThrow();
    }
  });
});
