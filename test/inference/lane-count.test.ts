// The number of lanes that run if the operator names none.

import { describe, expect, test } from "bun:test";
import { laneCountFor } from "../../src/adapters/inference/lane-count.ts";

const GIB = 2 ** 30;

describe("number of lanes", () => {
  test("is the number of cores", () => {
    expect(laneCountFor({ cores: 2, memoryBytes: 24 * GIB, gpus: 0 })).toBe(2);
    expect(laneCountFor({ cores: 16, memoryBytes: 128 * GIB, gpus: 0 })).toBe(16);
  });

  test("is at least two, so that queries need not wait for ingestion", () => {
    expect(laneCountFor({ cores: 1, memoryBytes: 24 * GIB, gpus: 0 })).toBe(2);
    expect(laneCountFor({ cores: 8, memoryBytes: GIB / 2, gpus: 0 })).toBe(2);
  });

  test("leaves a GiB of memory per lane", () => {
    expect(laneCountFor({ cores: 16, memoryBytes: 8 * GIB, gpus: 0 })).toBe(8);
    expect(laneCountFor({ cores: 16, memoryBytes: 8 * GIB - 1, gpus: 0 })).toBe(7);
  });

  test("is two per GPU, however many cores there are", () => {
    expect(laneCountFor({ cores: 1, memoryBytes: GIB, gpus: 1 })).toBe(2);
    expect(laneCountFor({ cores: 64, memoryBytes: 512 * GIB, gpus: 4 })).toBe(8);
  });

  test("is at most 64", () => {
    expect(laneCountFor({ cores: 64, memoryBytes: 2_048 * GIB, gpus: 0 })).toBe(64);
    expect(laneCountFor({ cores: 65, memoryBytes: 2_048 * GIB, gpus: 0 })).toBe(64);
    expect(laneCountFor({ cores: 65, memoryBytes: 2_048 * GIB, gpus: 33 })).toBe(64);
  });
});
