// Frames between server and children: they arrive unchanged however the socket splits them, and invalid ones are
// refused.

import { describe, expect, test } from "bun:test";
import { createFrameDecoder, encodeFrame, FRAME_KINDS, type Frame, FrameError } from "../../src/children/frames.ts";
import { seeded } from "../support/seeded.ts";

const ROUNDS = Number(process.env.FRAME_ROUNDS ?? 200);

describe("frames", () => {
  test("any sequence of frames arrives unchanged, wherever its bytes are split", () => {
    for (let seed = 1; seed <= ROUNDS; seed += 1) {
      const random = seeded(seed);
      const below = (limit: number) => Math.floor(random() * limit);
      const sent = Array.from({ length: 1 + below(6) }, (): Frame => {
        const payload = Uint8Array.from({ length: below(3) * below(400) }, () => below(256));
        const header = { op: "x".repeat(below(40)), list: [1, null, "é漢👍"], deep: { n: below(1e6) } };
        return { id: below(2 ** 32), kind: FRAME_KINDS[below(FRAME_KINDS.length)] ?? "reply", header, payload };
      });
      const bytes = Buffer.concat(sent.map((frame) => encodeFrame(frame)));
      const decoder = createFrameDecoder();
      const received: Frame[] = [];
      for (let at = 0; at < bytes.length; ) {
        const end = Math.min(bytes.length, at + 1 + below(random() < 0.5 ? 4 : 500));
        received.push(...decoder.push(bytes.subarray(at, end)));
        at = end;
      }
      expect(received, `seed ${seed}`).toEqual(sent);
    }
  });

  test("a payload of floats can be read in place", () => {
    const floats = Float32Array.of(1.5, -2, 3e-7);
    const bytes = encodeFrame({ id: 7, kind: "reply", header: { odd: "abc" }, payload: new Uint8Array(floats.buffer) });
    const [frame] = createFrameDecoder().push(bytes);
    expect(frame?.payload.byteOffset).toBe(0);
    expect([...new Float32Array(frame?.payload.buffer ?? new ArrayBuffer())]).toEqual([...floats]);
  });

  test("a frame of maximum size passes; one byte more is refused by both sides", () => {
    const empty = encodeFrame({ id: 1, kind: "request", header: {} }).length - 4;
    const limit = empty + 10;
    const frame = (payloadBytes: number) =>
      ({ id: 1, kind: "request", header: {}, payload: new Uint8Array(payloadBytes) }) as const;
    expect(createFrameDecoder(limit).push(encodeFrame(frame(10), limit))).toHaveLength(1);
    expect(() => encodeFrame(frame(11), limit)).toThrow(FrameError);
    const prefixOnly = encodeFrame(frame(11)).subarray(0, 4);
    expect(() => createFrameDecoder(limit).push(prefixOnly)).toThrow(FrameError);
  });

  const damaged: readonly (readonly [what: string, damage: (bytes: Uint8Array) => void])[] = [
    ["a length below the smallest frame", (bytes) => bytes.fill(0, 0, 4)],
    ["an unknown kind", (bytes) => bytes.fill(200, 12, 13)],
    ["a header longer than the frame", (bytes) => bytes.fill(255, 8, 12)],
    ["a header that is not JSON", (bytes) => bytes.fill(0x7b, 13, 14 + 1)],
    ["a header that is not UTF-8", (bytes) => bytes.fill(0xff, 14, 15)],
  ];
  test.each(damaged)("%s is refused", (_what, damage) => {
    const bytes = encodeFrame({ id: 1, kind: "reply", header: { a: "b" } });
    damage(bytes);
    expect(() => createFrameDecoder().push(bytes)).toThrow(FrameError);
  });

  test("a header that is not an object is refused", () => {
    const bytes = encodeFrame({ id: 1, kind: "reply", header: {} });
    bytes.set(new TextEncoder().encode("[]"), 13);
    expect(() => createFrameDecoder().push(bytes)).toThrow(FrameError);
  });
});
