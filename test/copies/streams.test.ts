// The small parts of backups: rows as lines, mixed streams, the limit of bytes per second, and answers that nobody
// reads.

import { expect, test } from "bun:test";
import { ByteReader } from "../../src/compose/byte-reader.ts";
import { bodyOf } from "../../src/compose/frames.ts";
import { ByteRateLimit } from "../../src/kit/byte-rate-limit.ts";
import { decodeRow, encodeRow } from "../../src/stores/copies/row-lines.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { until } from "../support/until.ts";

test("a row comes back from its line without loss", () => {
  const row = [1n, -1n, 2n ** 53n, -(2n ** 63n), 2n ** 64n - 1n, 0.5, 1e300, null, "", 'é"\n\u0000', ["a", ""], []];
  expect(decodeRow(encodeRow(row))).toEqual(row);
  expect(decodeRow(encodeRow([new Uint8Array([0, 255])]))).toEqual([new Uint8Array([0, 255])]);
  expect(encodeRow(row)).not.toContain("\n");
});

test("lines and blocks of bytes are read from a stream, however it is cut", async () => {
  const bytes = new TextEncoder().encode('{"a":1}\n\nxy\nz{"b":2}\n');
  for (const size of [1, 2, 3, 5, 100]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.slice(at * size, (at + 1) * size),
    );
    const reader = new ByteReader(new Blob(pieces).stream());
    expect(await reader.line()).toBe('{"a":1}');
    expect(await reader.line()).toBe("");
    expect(new TextDecoder().decode(await reader.take(4))).toBe("xy\nz");
    expect(await reader.line()).toBe('{"b":2}');
    expect(await reader.line()).toBeNull();
    expect(reader.take(1)).rejects.toThrow("stopped in the middle");
  }
});

test("a limit of bytes per second makes its caller wait, and no limit does not", async () => {
  const clock = new ManualClock();
  const limit = new ByteRateLimit(1_000, clock);
  let taken = 0;
  const taking = (async () => {
    for (; taken < 3; taken++) await limit.take(500);
  })();
  for (const seconds of [0.5, 1, 1.5]) {
    await until("the next bytes were counted", () => taken === seconds * 2 - 1);
    clock.advance(499);
    await Promise.resolve();
    expect(taken).toBe(seconds * 2 - 1);
    clock.advance(1);
  }
  await taking;
  await new ByteRateLimit(null, clock).take(1e12);
});

test("an answer that nobody reads ends, and what it holds is released", async () => {
  let isReleased = false;
  const pieces = async function* () {
    try {
      for (;;) yield new Uint8Array(10);
    } finally {
      isReleased = true;
    }
  };
  const reader = bodyOf(pieces(), 20).getReader();
  expect((await reader.read()).value?.length).toBe(10);
  await until("the pieces have ended", () => isReleased);
  expect(reader.read()).rejects.toThrow("did not read");

  isReleased = false;
  await bodyOf(pieces(), 1e6).getReader().cancel();
  const other = bodyOf(pieces(), 1e6).getReader();
  await other.read();
  await other.cancel();
  expect(isReleased).toBeTrue();
});
