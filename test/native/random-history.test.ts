// Long random histories of publishing, removing, hiding, searching and reopening, compared with a plain map of the
// expected content. `MNEME_TEST_SEED` repeats a run, `MNEME_TEST_STEPS` makes it longer.

import { expect, test } from "bun:test";
import { filterJson } from "../../src/adapters/native/filter-json.ts";
import { parseFilter } from "../../src/domain/filter.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { rounds } from "../support/extent.ts";
import { seeded } from "../support/seeded.ts";
import {
  chunkKeysOf,
  cosine,
  FINGERPRINT,
  live,
  MODEL,
  openIndex,
  publication,
  publish,
  SEED,
  unitVector,
  vectorOf,
} from "./corpus.ts";

const STEPS = rounds("MNEME_TEST_STEPS", { all: 200, short: 80 });
const MEMORIES = 80;
const USERS = 3;

interface Shelved {
  readonly chunkKeys: readonly bigint[];
  readonly userKey: bigint;
  isShown: boolean;
}

test(`any history leaves the expected content (seed ${SEED}, ${STEPS} steps)`, async () => {
  const random = seeded(SEED);
  const below = (bound: number) => Math.floor(random() * bound);
  const folder = temporaryFolder();
  const shelf = new Map<bigint, Shelved>();
  const open = async () => {
    const options = { directory: folder.path, newModel: MODEL };
    const { index, repairs } = await openIndex(options);
    expect(repairs).toEqual([]);
    return index;
  };
  const show = (memoryKey: bigint, shelved: Shelved) => {
    const attributes = JSON.stringify({ metadata: { n: Number(memoryKey) } });
    index.show(BigUint64Array.of(memoryKey), BigUint64Array.of(shelved.userKey), new Float64Array(1), [attributes]);
    shelved.isShown = true;
  };
  const nearestByHand = (query: Float32Array, userKey: bigint | null, only: readonly bigint[] | null) =>
    [...shelf]
      .filter(([memoryKey]) => only === null || only.includes(memoryKey))
      .filter(([, shelved]) => shelved.isShown && (userKey === null || shelved.userKey === userKey))
      .flatMap(([, { chunkKeys }]) =>
        chunkKeys.map((chunkKey) => ({ chunkKey, score: cosine(query, vectorOf(chunkKey)) })),
      )
      .sort((left, right) => right.score - left.score);

  let index = await open();
  try {
    for (let step = 1; step <= STEPS; step++) {
      const memoryKeys = new Set(Array.from({ length: 1 + below(8) }, () => BigInt(1 + below(MEMORIES))));
      const chance = random();
      if (chance < 0.5) {
        const chunksEach = below(4);
        const { memoryKeys: published, chunks, vectors } = publication([...memoryKeys], step, chunksEach);
        await publish(index, published, chunks, live(vectors));
        for (const memoryKey of memoryKeys) {
          const userKey = BigInt(1 + below(USERS));
          const shelved = { chunkKeys: chunkKeysOf(memoryKey, step, chunksEach), userKey, isShown: true };
          shelf.set(memoryKey, shelved);
          show(memoryKey, shelved);
        }
      } else if (chance < 0.7) {
        index.hide(BigUint64Array.from(memoryKeys));
        await index.remove(BigUint64Array.from(memoryKeys));
        for (const memoryKey of memoryKeys) shelf.delete(memoryKey);
      } else if (chance < 0.8) {
        index.hide(BigUint64Array.from(memoryKeys));
        for (const shelved of [...memoryKeys].map((memoryKey) => shelf.get(memoryKey))) {
          if (shelved !== undefined) shelved.isShown = false;
        }
      } else if (chance < 0.87) {
        await index.compactIfNeeded();
      } else if (chance < 0.93) {
        await index.close();
        index = await open();
        for (const [memoryKey, shelved] of shelf) if (shelved.isShown) show(memoryKey, shelved);
      }

      const userKey = below(2) === 0 ? null : BigInt(1 + below(USERS));
      const query = unitVector(random);
      const only = below(2) === 0 ? null : [...shelf.keys(), 999n].filter(() => below(3) === 0);
      const filter = { "metadata.n": { $in: only?.map(Number) ?? [] } };
      const within =
        only === null ? index.admit(userKey, 1) : await index.admitWithin(userKey, 1, filterJson(parseFilter(filter)));
      const expected = nearestByHand(query, userKey, only);
      const near = await index.searchVectors(FINGERPRINT, query, within, 5);
      // Rounding to bf16 may swap chunks whose cosines agree to three digits, so the test compares scores, not keys.
      expect(near.chunkKeys).toHaveLength(Math.min(5, expected.length));
      for (const [at, chunkKey] of near.chunkKeys.entries()) {
        expect(near.scores[at]).toBeCloseTo(expected[at]?.score ?? Number.NaN, 2);
        expect(cosine(query, vectorOf(chunkKey))).toBeCloseTo(near.scores[at] ?? Number.NaN, 2);
      }
      const memoryOf = new Map(
        [...shelf].flatMap(([memoryKey, { chunkKeys }]) => chunkKeys.map((key) => [key, memoryKey])),
      );
      const similarities = await index.scoreVectors(
        FINGERPRINT,
        query,
        BigUint64Array.from(memoryOf.keys()),
        BigUint64Array.from(memoryOf.values()),
      );
      for (const [at, chunkKey] of [...memoryOf.keys()].entries()) {
        expect(similarities[at]).toBeCloseTo(cosine(query, vectorOf(chunkKey)), 2);
      }
      const sorted = (chunkKeys: Iterable<bigint>) => [...chunkKeys].sort((a, b) => (a < b ? -1 : 1));
      const matching = await index.searchText("of", within, 2_000);
      expect(sorted(matching.chunkKeys)).toEqual(sorted(expected.map((hit) => hit.chunkKey)));
    }
    const everything = BigUint64Array.from([...shelf.values()].flatMap(({ chunkKeys }) => [...chunkKeys]));
    const differences = await index.reconcile(everything);
    expect(Object.entries(differences).filter(([, chunkKeys]) => chunkKeys.length > 0)).toEqual([]);
    const passages = await index.passages(everything);
    expect(passages.map((passage) => passage?.text)).toEqual([...everything].map((chunkKey) => `passage ${chunkKey}`));
  } finally {
    await index.close();
    folder.remove();
  }
});
