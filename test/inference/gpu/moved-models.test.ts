// Models whose GPU fails: they move to the CPU, and what was about to be computed is computed there.

import { describe, expect, test } from "bun:test";
import type { Encoder } from "../../../src/adapters/inference/encoder.ts";
import { UnsupportedGraph } from "../../../src/adapters/inference/gpu/unsupported-graph.ts";
import { LoadedModels } from "../../../src/adapters/inference/loaded-models.ts";
import type { ModelDescription } from "../../../src/adapters/inference/model-files.ts";
import { ENGLISH, MODELS_DIR, MULTILINGUAL } from "../../support/shipped-models.ts";

const IDS = Int32Array.from([101, 7592, 2088, 102]);
const SEQUENCES = [{ ids: IDS, firstLength: IDS.length }];
const DIMENSIONS = 384;

/** An encoder that gives every text the unit vector along axis `axis`. */
function encoderOf(
  provider: string,
  axis: number,
  change: (rows: Float32Array) => Float32Array = (rows) => rows,
): Encoder {
  const encode: Encoder["encode"] = async (sequences) => {
    const rows = new Float32Array(sequences.length * DIMENSIONS);
    for (let row = 0; row < sequences.length; row += 1) rows[row * DIMENSIONS + axis] = 1;
    return change(rows);
  };
  return { provider, warning: null, encode, scoreWithEarlyExit: null, read: null, close: async () => undefined };
}

/** Models of which the GPU's are changed by `onGpu`. */
function create(onGpu: (model: ModelDescription) => Promise<Encoder>) {
  return new LoadedModels(MODELS_DIR, null, { onCpu: async () => encoderOf("cpu", 0), onGpu });
}

async function axisOf(models: LoadedModels, id: string): Promise<number> {
  const rows = await models.encode(await models.get(id), SEQUENCES, false);
  expect(rows).toHaveLength(DIMENSIONS);
  return rows.indexOf(1);
}

test("a model runs on the GPU while that works", async () => {
  const models = create(async () => encoderOf("cuda:0", 1));
  expect(await axisOf(models, ENGLISH)).toBe(1);
  expect(models.takeReports()).toMatchObject({ loaded: [{ id: ENGLISH, provider: "cuda:0" }], gpuFailure: null });
  expect(models.takeReports().loaded).toEqual([]);
});

describe.each([
  [
    "throws",
    () => {
      throw new Error("CUDA failure 2: out of memory ; GPU=0");
    },
    "CUDA failure 2: out of memory",
  ],
  [
    "computes NaN",
    (rows: Float32Array) => rows.fill(Number.NaN),
    "… must compute vectors of unit length, but does not",
  ],
  [
    "computes vectors that are too long",
    (rows: Float32Array) => rows.fill(1),
    "… must compute vectors of unit length, but does not",
  ],
  [
    "computes too few numbers",
    (rows: Float32Array) => rows.subarray(1),
    "… computes 383 numbers per text; model.json says 384",
  ],
] as const)("a GPU that %s", (_, failure, reason) => {
  test("after some good runs: this run and all later ones, of all models, are on the CPU", async () => {
    let isBroken = false;
    let opened = 0;
    const models = create(async () => {
      opened += 1;
      return encoderOf("cuda:0", 1, (rows) => (isBroken ? failure(rows) : rows));
    });
    expect([await axisOf(models, ENGLISH), await axisOf(models, MULTILINGUAL)]).toEqual([1, 1]);
    models.takeReports();
    isBroken = true;
    expect(await axisOf(models, ENGLISH)).toBe(0);
    const moved = { provider: "cpu" };
    expect(models.takeReports()).toMatchObject({ loaded: [moved, moved], gpuFailure: reason });
    isBroken = false;
    expect([await axisOf(models, ENGLISH), await axisOf(models, MULTILINGUAL)]).toEqual([0, 0]);
    expect(opened).toBe(2);
  });

  test("from the start: the model runs on the CPU", async () => {
    const models = create(async () => encoderOf("cuda:0", 1, failure));
    expect(await axisOf(models, ENGLISH)).toBe(0);
    expect(models.takeReports()).toMatchObject({ loaded: [{ provider: "cpu" }], gpuFailure: reason });
  });
});

test("a model whose graph cannot be converted runs on the CPU, others on the GPU", async () => {
  const models = create(async ({ id }) => {
    if (id === ENGLISH) throw new UnsupportedGraph("it has no LayerNormalization");
    return encoderOf("cuda:0", 1);
  });
  expect([await axisOf(models, ENGLISH), await axisOf(models, MULTILINGUAL)]).toEqual([0, 1]);
  const warning = `${ENGLISH} cannot be converted for the GPU: it has no LayerNormalization`;
  expect(models.takeReports()).toMatchObject({
    loaded: [
      { provider: "cpu", warning },
      { provider: "cuda:0", warning: null },
    ],
    gpuFailure: null,
  });
});
