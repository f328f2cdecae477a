// Tests that the native core evaluates filters like `matchesFilter`, with random filters on random memories that
// change. test/domain/filter.test.ts tests what filters mean. `MNEME_TEST_SEED` repeats a run, `MNEME_TEST_CASES` sets
// the number of filters.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { NativeIndex } from "../../src/adapters/native/addon-types.ts";
import { filterJson } from "../../src/adapters/native/filter-json.ts";
import {
  type FilteredAttributes,
  filteredAttributesJson,
  matchesFilter,
  parseFilter,
} from "../../src/domain/filter.ts";
import type { JsonObject } from "../../src/domain/json.ts";
import { parseJson } from "../../src/kit/exact-json.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { anyFilter, anyMemory, Chance, SCALARS } from "../support/any-filter.ts";
import { rounds } from "../support/extent.ts";
import { FINGERPRINT, live, MODEL, openIndex, publication, publish, SEED, vectorOf } from "./corpus.ts";

const FILTERS = rounds("MNEME_TEST_CASES", { all: 50_000, short: 15_000 });
const MEMORIES = 24;
const FILTERS_PER_CHANGE = 25;

const folder = temporaryFolder();
let index: NativeIndex;
beforeAll(async () => {
  const options = {
    directory: folder.path,
    newModel: MODEL,
  };
  index = (await openIndex(options)).index;
  const memoryKeys = Array.from({ length: MEMORIES }, (_, at) => BigInt(at + 1));
  const { chunks, vectors } = publication(memoryKeys, 1, 1);
  await publish(index, BigUint64Array.from(memoryKeys), chunks, live(vectors));
});
afterAll(async () => {
  await index.close();
  folder.remove();
});

const keyOf = (at: number) => BigUint64Array.of(BigInt(at + 1));

/** A memory as it is after it was stored and read: JSON has neither -0 nor infinity. */
function stored(memory: FilteredAttributes): FilteredAttributes {
  return { ...memory, metadata: parseJson(JSON.stringify(memory.metadata)) as JsonObject | null };
}

function show(at: number, memory: FilteredAttributes): void {
  index.show(keyOf(at), new BigUint64Array(1), new Float64Array(1), [filteredAttributesJson(memory)]);
}

/** Positions of the memories that match a filter: `found` by the native core, `expected` by `matchesFilter`. */
async function verdicts(filter: unknown, memories: readonly (FilteredAttributes | null)[]) {
  const parsed = parseFilter(filter);
  const within = await index.admitWithin(null, 1, filterJson(parsed));
  const hits = await index.searchVectors(FINGERPRINT, vectorOf(1n), within, 2_000);
  expect(hits.memoryKeys.length).toBe(within.memories);
  const found = [...hits.memoryKeys].map((key) => Number(key) - 1).sort((left, right) => left - right);
  const expected = [...memories.keys()].filter((at) => {
    const memory = memories[at];
    return memory !== null && memory !== undefined && matchesFilter(parsed, memory);
  });
  return { found, expected };
}

async function expectAgreement(filter: unknown, memories: readonly (FilteredAttributes | null)[]): Promise<number> {
  const { found, expected } = await verdicts(filter, memories);
  // compares strings first, because 50,000 calls of `expect` take longer than the filters
  if (String(found) !== String(expected)) {
    expect({ filter: JSON.stringify(filter).slice(0, 2_000), found }).toEqual({
      filter: JSON.stringify(filter).slice(0, 2_000),
      found: expected,
    });
  }
  return found.length;
}

const LONG = "x".repeat(70_000);
/** Unusual JSON values, and values that an index might shorten or round. */
const ODD_SCALARS: readonly string[] = [
  ...SCALARS,
  ...["1e400", "-1e400", "1e-400", "5e-324", "1.7976931348623157e308", "0.1", "-1", "9007199254740994", "1e21"],
  ...['"\\ud83d"', '"\\ude00"', '"\\ud83da"', '"a\\ud83d\\ude00"', '"\\udfff"', '"\\ud800"', '"\\u0000"', '"é"'],
];
const LONG_SCALARS: readonly string[] = [
  ...ODD_SCALARS,
  ...["", "y", "z"].map((end) => JSON.stringify(`${LONG}${end}`)),
];

describe("the native core agrees with matchesFilter", () => {
  test(`on any filter, whatever changes in between (seed ${SEED}, ${FILTERS} filters on ${MEMORIES} memories)`, async () => {
    const chance = new Chance(SEED, ODD_SCALARS);
    const memories: (FilteredAttributes | null)[] = Array.from({ length: MEMORIES }, () => null);
    let admitted = 0;
    for (let round = 0; round < FILTERS; round++) {
      if (round % FILTERS_PER_CHANGE === 0) {
        for (let change = 0; change < 6; change++) {
          const at = chance.below(MEMORIES);
          const memory = chance.below(5) === 0 ? null : stored(anyMemory(chance));
          memories[at] = memory;
          if (memory === null) index.hide(keyOf(at));
          else show(at, memory);
        }
      }
      admitted += await expectAgreement(anyFilter(chance, chance.below(4)), memories);
    }
    // the test would prove little if every filter matched all memories or none
    const share = admitted / (FILTERS * MEMORIES);
    expect(share).toBeGreaterThan(0.15);
    expect(share).toBeLessThan(0.85);
  });

  test(`on texts of 70,000 bytes that differ in the last byte (seed ${SEED})`, async () => {
    const chance = new Chance(SEED, LONG_SCALARS);
    const memories = Array.from({ length: MEMORIES }, () => stored(anyMemory(chance)));
    for (const [at, memory] of memories.entries()) show(at, memory);
    for (let round = 0; round < 300; round++) await expectAgreement(anyFilter(chance, chance.below(3)), memories);
    const tails = ["", "y", "z"].map((end): JsonObject => ({ a: `${LONG}${end}`, b: [`${LONG}${end}`] }));
    for (const [at, metadata] of tails.entries()) memories[at] = { ...stored(anyMemory(chance)), metadata };
    for (const [at, memory] of memories.entries()) show(at, memory);
    for (const end of ["", "x", "y", "z", "~"]) {
      for (const operator of ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$contains"]) {
        for (const field of ["metadata.a", "metadata.b"]) {
          await expectAgreement({ [field]: { [operator]: `${LONG}${end}` } }, memories);
        }
      }
    }
  });

  test("on metadata of the greatest depth, and on paths of the greatest length", async () => {
    const levels = 2_000;
    const deep = JSON.parse(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`);
    const lists = JSON.parse(`{"a":${"[".repeat(5_000)}{"b":2}${"]".repeat(5_000)}}`);
    const dots = JSON.parse('{"a":{"a":{"a":1}},"a.a":{"a":2},"a.a.a":3,"":{"":4},".":5,"..":{"":6}}');
    const chance = new Chance(SEED, SCALARS);
    const memories = [deep, lists, dots].map((metadata) => ({ ...anyMemory(chance), metadata }));
    const all = Array.from({ length: MEMORIES }, (_, at) => memories[at] ?? null);
    for (const at of all.keys()) index.hide(keyOf(at));
    for (const [at, memory] of memories.entries()) show(at, memory);
    const path = (length: number) => `metadata${".a".repeat(length)}`;
    for (const field of [path(1), path(2), path(3), path(4), path(levels), path(levels + 1), path(50_000)]) {
      await expectAgreement({ [field]: { $exists: true } }, all);
      await expectAgreement({ [field]: { $gte: 1 } }, all);
      await expectAgreement({ [field]: null }, all);
    }
    for (const field of ["metadata.a.b", "metadata..", "metadata...", "metadata....", "metadata.a.", "metadata..a"]) {
      await expectAgreement({ [field]: { $exists: true } }, all);
    }
  });

  test("on many operands, equal operands, and operands that are not stored", async () => {
    const chance = new Chance(SEED, SCALARS);
    const memories = Array.from({ length: MEMORIES }, () => stored(anyMemory(chance)));
    for (const [at, memory] of memories.entries()) show(at, memory);
    const many = Array.from({ length: 1_000 }, (_, at) => (at % 3 === 0 ? at / 2 : `${at}`));
    for (const operands of [many, [1, 1, 1], [null, null], [JSON.parse("1e400")], [[], {}, [[]], [null]]]) {
      for (const operator of ["$in", "$nin"]) {
        for (const field of ["metadata.a", "metadata.b.a"]) {
          await expectAgreement({ [field]: { [operator]: operands } }, memories);
        }
      }
    }
    for (const bound of ["1e400", "-1e400", "-0", "0"].map((text) => JSON.parse(text))) {
      for (const operator of ["$gt", "$gte", "$lt", "$lte"]) {
        await expectAgreement({ "metadata.a": { [operator]: bound } }, memories);
      }
    }
  });
});
