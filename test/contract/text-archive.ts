// Contract of TextArchive (src/ports/text-archive.ts). Every implementation must pass it; `open` creates the one to
// test.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { ChunkKey, MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import type { Eventually } from "../../src/kit/eventually.ts";
import { PiecedText } from "../../src/kit/pieced-text.ts";
import type { ArchivedMemory, TextArchive } from "../../src/ports/text-archive.ts";
import { archivedMemory, PROJECT } from "../stores/fixtures/archived-memory.ts";
import { seeded } from "../support/seeded.ts";

const OTHER = "prj_00000000000000000000000002" as ProjectId;

/** An empty archive. `reopen` returns another one on the same data. */
export interface OpenedArchive {
  readonly archive: TextArchive;
  reopen(): Promise<TextArchive>;
  close(): Promise<void>;
}

const key = (value: number) => BigInt(value) as MemoryKey;
type WholeMemory = ArchivedMemory & { readonly content: string };
const memory = (at: number, fields: Partial<WholeMemory> = {}): WholeMemory => ({
  ...archivedMemory(BigInt(at), 1),
  ...fields,
});

/** Runs the contract against the archives that `open` makes. */
export function textArchiveContract(implementation: string, open: () => Eventually<OpenedArchive>): void {
  describe(`${implementation} as TextArchive`, () => {
    let opened: OpenedArchive;
    let archive: TextArchive;
    beforeEach(async () => {
      opened = await open();
      archive = opened.archive;
    });
    afterEach(() => opened.close());
    const contentOf = async (at: number) => (await archive.contents([key(at)])).get(key(at))?.content;

    const texts: readonly (readonly [string, string])[] = [
      ["empty", ""],
      ["with every plane of Unicode", "ascii é 中 \u{1F600} \u{10FFFF} \uFEFF \u2028 e\u0301"],
      ["with control characters and NUL", "a\0b\x01\x1f\x7f\r\n\t\0"],
      ["with quotes and wildcards", `' " \\ ; -- % _ $1 {} \${x} {"a",NULL} NULL`],
      ["of exactly 2,048 characters", "x".repeat(2_048)],
      ["of 2,049 characters", "x".repeat(2_049)],
      ["with a character of two units at 2,048", `${"x".repeat(2_047)}😀${"y".repeat(9_000)}`],
      ["of many lines", "😀é中x\n".repeat(100_000)],
    ];
    for (const [what, content] of texts) {
      test(`texts are returned unchanged: ${what}`, async () => {
        await archive.replace([memory(1), memory(2, { content }), memory(3)]);
        expect((await contentOf(2)) === content).toBe(true);
        archive = await opened.reopen();
        expect((await contentOf(2)) === content).toBe(true);
        expect(await contentOf(1)).toBe(memory(1).content);
      });
    }

    test("texts of 50 MB are returned unchanged", async () => {
      const content = "fifty megabytes ".repeat((50 * 1024 * 1024) / 16);
      for (let at = 1; at <= 3; at++) await archive.replace([memory(at, { content })]);
      expect((await contentOf(2)) === content).toBe(true);
    });

    test("a text in pieces is stored as one", async () => {
      const pieces = ["a😀".repeat(3_000), "", "b\0ü"];
      const content = new PiecedText(pieces, Buffer.byteLength(pieces.join("")));
      await archive.replace([{ ...memory(1), content }]);
      expect((await contentOf(1)) === pieces.join("")).toBe(true);
    });

    test("texts of keys near and far are returned in one map, without keys that are not stored", async () => {
      const keys = [1, 2, 3, 500, 2_549, 900_000, 900_001, 2 ** 40];
      await archive.replace(keys.map((at) => memory(at)));
      const found = await archive.contents([...keys, 4, 499, 899_999, 7_000_000].map(key));
      expect([...found.keys()].sort()).toEqual(keys.map(key).sort());
      for (const at of keys) expect(found.get(key(at))).toEqual({ version: 1, content: memory(at).content });
      expect(await archive.contents([])).toEqual(new Map());
      expect((await archive.contents([key(1), key(1)])).size).toBe(1);
    });

    test("stored returns texts with their versions and their chunks in order", async () => {
      const { version, content, chunks } = memory(1);
      await archive.replace([memory(1), memory(2, { chunks: [] })]);
      const found = await archive.stored([key(1), key(2), key(3)]);
      expect([...found.keys()].sort()).toEqual([key(1), key(2)]);
      const places = chunks.map(({ chunkKey, ordinal, start, end }) => ({ chunkKey, ordinal, start, end }));
      expect(found.get(key(1))).toEqual({ version, content, chunks: places });
      expect(found.get(key(2))?.chunks).toEqual([]);
    });

    test("chunk keys of a project are parallel to the keys of their memories, without those of other projects", async () => {
      const mine = [memory(1), memory(2), memory(3, { chunks: [] })];
      await archive.replace([...mine, { ...memory(4), projectId: OTHER }]);
      const { memoryKeys, chunkKeys } = await archive.chunkKeys(PROJECT);
      const pairs = Array.from(memoryKeys, (memoryKey, at) => `${memoryKey} ${chunkKeys[at]}`);
      const expected = mine.flatMap(({ memoryKey, chunks }) =>
        chunks.map(({ chunkKey }) => `${memoryKey} ${chunkKey}`),
      );
      expect(pairs.sort()).toEqual(expected.sort());
      expect((await archive.chunkKeys(OTHER)).chunkKeys).toHaveLength(3);
      const none = await archive.chunkKeys("prj_nowhere' OR 1 = 1 --" as ProjectId);
      expect([none.memoryKeys.length, none.chunkKeys.length]).toEqual([0, 0]);
    });

    test("keys keep all 63 bits", async () => {
      const [largest, aboveDouble] = [2n ** 63n - 1n, 2n ** 53n + 1n];
      const chunk = { chunkKey: largest as ChunkKey, ordinal: 0, start: 0, end: 1, headings: [] };
      await archive.replace([{ ...memory(1), memoryKey: aboveDouble as MemoryKey, chunks: [chunk] }]);
      const { memoryKeys, chunkKeys } = await archive.chunkKeys(PROJECT);
      expect([memoryKeys[0], chunkKeys[0]]).toEqual([aboveDouble, largest]);
      expect((await archive.contents([aboveDouble as MemoryKey])).size).toBe(1);
    });

    test("replace replaces all old text and chunks, and can be repeated", async () => {
      await archive.replace([memory(1, { content: "old ".repeat(5_000) }), memory(2)]);
      const newer = { ...archivedMemory(1n, 2), content: "new" };
      for (let time = 0; time < 2; time++) await archive.replace([newer]);
      expect(await contentOf(1)).toBe("new");
      const { chunkKeys } = await archive.chunkKeys(PROJECT);
      const expected = [...newer.chunks, ...memory(2).chunks].map(({ chunkKey }) => chunkKey);
      expect(BigUint64Array.from(chunkKeys).sort()).toEqual(BigUint64Array.from(expected).sort());
    });

    test("replace stores all memories or none", async () => {
      await archive.replace([memory(1)]);
      const broken = {
        ...memory(3),
        get chunks(): never {
          throw new Error("these chunks cannot be read");
        },
      };
      await expect(archive.replace([archivedMemory(1n, 2), memory(2), broken])).rejects.toThrow("cannot be read");
      expect(await contentOf(1)).toBe(memory(1).content);
      expect(await contentOf(2)).toBeUndefined();
      await archive.replace([memory(2)]);
      expect(await contentOf(2)).toBe(memory(2).content);
    });

    test("calls take effect in their order, even if none is awaited", async () => {
      const writes = Array.from({ length: 20 }, (_, at) => archive.replace([memory(1, { content: `version ${at}` })]));
      await Promise.all(writes);
      expect(await contentOf(1)).toBe("version 19");
    });

    test("readers see only complete writes", async () => {
      let isDone = false;
      const writing = (async () => {
        for (let version = 1; version <= 30; version++) {
          await archive.replace([1, 2, 3].map((at) => memory(at, { content: `${version}`.repeat(3_000) })));
        }
        isDone = true;
      })();
      while (!isDone) {
        const found = await archive.contents([key(1), key(2), key(3)]);
        const contents = new Set([...found.values()].map(({ content }) => content));
        expect(contents.size).toBeLessThanOrEqual(1);
      }
      await writing;
    });

    test("remove deletes the texts and chunks of the given memories for good, and no others", async () => {
      await archive.replace([memory(1), memory(2), memory(3)]);
      await archive.remove([key(1), key(3), key(77)]);
      await archive.remove([]);
      archive = await opened.reopen();
      expect([...(await archive.contents([1, 2, 3].map(key))).keys()]).toEqual([key(2)]);
      expect(new Set((await archive.chunkKeys(PROJECT)).memoryKeys)).toEqual(new Set([2n]));
      expect(await archive.eraseRemoved()).toBe(true);
      expect(await contentOf(2)).toBe(memory(2).content);
    });

    const seed = Number(process.env.MNEME_TEST_SEED ?? 20_261_121);
    test(`behaves like a map over random writes, removals and reopenings (seed ${seed})`, async () => {
      const random = seeded(seed);
      const integer = (below: number) => Math.floor(random() * below);
      const expected = new Map<MemoryKey, WholeMemory>();
      for (let step = 1; step <= 60; step++) {
        const keys = Array.from(new Set(Array.from({ length: 1 + integer(8) }, () => 1 + integer(40) * 100)));
        if (random() < 0.7) {
          const memories = keys.map((at) => {
            const content = `${step} `.repeat(integer(4_000));
            return { ...archivedMemory(BigInt(at), step), content };
          });
          await archive.replace(memories);
          for (const stored of memories) expected.set(stored.memoryKey, stored);
        } else {
          await archive.remove(keys.map(key));
          for (const at of keys) expected.delete(key(at));
        }
        if (random() < 0.1) archive = await opened.reopen();
      }
      const all = Array.from({ length: 40 }, (_, at) => key(1 + at * 100));
      const contents = await archive.contents(all);
      expect(new Set(contents.keys())).toEqual(new Set(expected.keys()));
      for (const [at, stored] of expected) expect(contents.get(at)?.content === stored.content).toBe(true);
      const chunks = [...expected.values()].flatMap((stored) => stored.chunks.map(({ chunkKey }) => chunkKey));
      expect(BigUint64Array.from((await archive.chunkKeys(PROJECT)).chunkKeys).sort()).toEqual(
        BigUint64Array.from(chunks).sort(),
      );
    });
  });
}
