// Lanes that should compute on a GPU: every failure ends in a lane that computes on the CPU and says so, and no call
// fails. The libraries are real ones, damaged ones, and one in which the CPU stands for the GPU.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { GpuOptions } from "../../../src/adapters/inference/gpu/gpu-plan.ts";
import { ONNXRUNTIME_VERSION } from "../../../src/adapters/inference/gpu/provider-library.ts";
import { createLanes, type Lanes } from "../../../src/adapters/inference/lanes.ts";
import { invariant } from "../../../src/domain/fault.ts";
import { createLog, type Log } from "../../../src/kit/log.ts";
import { ENGLISH, MODELS_DIR } from "../../support/shipped-models.ts";
import { until } from "../../support/until.ts";
import { EMBEDDER_REFERENCE, RERANKER_REFERENCE } from "../references.ts";
import { writeCrashingProvider, writeGarbageProviders, writeObedientGpu } from "./broken-gpu.ts";

const home = mkdtempSync(join(tmpdir(), "mneme-gpu-"));
const opened: Lanes[] = [];
afterAll(async () => {
  await Promise.all(opened.map((lanes) => lanes.close()));
  rmSync(home, { recursive: true });
});

const silent = createLog("silent");
const TEXTS = EMBEDDER_REFERENCE.slice(0, 8).map(({ text }) => text);

function folder(name: string): string {
  const path = join(home, name);
  mkdirSync(path);
  return path;
}

/** Starts lanes that should use a GPU. */
async function start(libraryDir: string | null, options: Partial<GpuOptions> = {}, count = 1, log = silent) {
  const gpu: GpuOptions = {
    ...{ provider: { kind: "cuda", devices: [0] }, libraryDir, memoryBytesMax: null, retryFirstMs: 60_000 },
    ...options,
  };
  const lanes = await createLanes({
    modelsDir: MODELS_DIR,
    embedder: ENGLISH,
    lanes: count,
    gpu,
    log,
  });
  opened.push(lanes);
  const embedder = lanes.embedders.default;
  const reranker = lanes.rerankers.for(embedder);
  invariant(reranker, "the default embedder has a reranker");
  await lanes.ready();
  const first = () => {
    const [lane] = lanes.status().lanes;
    invariant(lane, "there is a lane");
    return lane;
  };
  return { embedder, reranker, first, all: () => lanes.status().lanes, isUp: () => first().status === "up" };
}

type Started = Awaited<ReturnType<typeof start>>;

/** Checks that texts have the vectors of the model, up to the differences between 8-bit integers and 16-bit floats. */
async function expectVectors({ embedder }: Started, texts = TEXTS): Promise<void> {
  const vectors = await embedder.embed(texts, { purpose: "passage", priority: "query" });
  expect(vectors).toHaveLength(texts.length * embedder.dimensions);
  texts.forEach((text, row) => {
    const expected = EMBEDDER_REFERENCE.find((each) => each.text === text)?.vector ?? [];
    const vector = vectors.subarray(row * embedder.dimensions, (row + 1) * embedder.dimensions);
    const cosine = vector.reduce((sum, value, at) => sum + value * (expected[at] ?? 0), 0);
    expect(cosine, text).toBeGreaterThan(0.99);
  });
}

describe("libraries that cannot be used", () => {
  test.each([
    ["no folder is named", null, "MNEME_ONNXRUNTIME_DIR is not set"],
    ["the folder does not exist", "/nonexistent", "MNEME_ONNXRUNTIME_DIR is not a folder that can be read"],
  ])("%s", async (_, directory, problem) => {
    const lanes = await start(directory);
    await expectVectors(lanes);
    expect(lanes.first()).toMatchObject({ gpuFallback: problem, gpuFailures: 0, restarts: 0 });
  });

  test("the provider is no library", async () => {
    const directory = folder("garbage");
    writeGarbageProviders(directory);
    const lanes = await start(directory);
    await expectVectors(lanes);
    expect(lanes.first()).toMatchObject({ gpuFailures: 1, restarts: 0, provider: expect.stringMatching(/^cpu/) });
    expect(lanes.first().gpuFallback).toBe(
      "libonnxruntime_providers_cuda.so cannot be loaded: libonnxruntime_providers_cuda.so: invalid ELF header",
    );
  });

  test("the provider ends each process that loads it", async () => {
    const directory = folder("crashing");
    writeCrashingProvider(directory);
    const lanes = await start(directory);
    await expectVectors(lanes);
    expect(lanes.first()).toMatchObject({
      gpuFallback: "the process that used it ended; the log says how",
      gpuFailures: 1,
      restarts: 1,
    });
  });

  test("libonnxruntime itself is no library", async () => {
    const directory = folder("no-library");
    writeGarbageProviders(directory);
    rmSync(join(directory, `libonnxruntime.so.${ONNXRUNTIME_VERSION}`));
    writeFileSync(join(directory, "libonnxruntime.so.1"), `VERS_${ONNXRUNTIME_VERSION}\0`);
    const lanes = await start(directory);
    await expectVectors(lanes);
    expect(lanes.first().gpuFailures).toBe(1);
    expect(lanes.first().gpuFallback).toBeString();
  });

  test("with auto, nothing is said, and the GPU is not tried again", async () => {
    const directory = folder("auto");
    writeGarbageProviders(directory);
    const lanes = await start(directory, { provider: { kind: "auto" } });
    await expectVectors(lanes);
    expect(lanes.first().gpuFallback).toBeNull();
  });
});

describe("a GPU that works", () => {
  test("computes the models, and each lane uses the next GPU", async () => {
    const directory = folder("works");
    const gpu = writeObedientGpu(directory);
    const lanes = await start(directory, { provider: { kind: "cuda", devices: [3] } });
    await expectVectors(lanes);
    expect(lanes.first()).toMatchObject({ provider: "cuda:3", gpuFallback: null, gpuFailures: 0 });
    expect(gpu.device()).toBe(3);

    const two = await start(directory, { provider: { kind: "cuda", devices: [5, 7] } }, 2);
    const providers = () => two.all().map(({ provider }) => provider);
    await until("both lanes", () => providers().every((provider) => provider !== null));
    expect(providers()).toEqual(["cuda:5", "cuda:7"]);
  });

  test("is said to be of no use if there are fewer lanes than GPUs", async () => {
    const directory = folder("too-many");
    writeObedientGpu(directory);
    const warnings: unknown[] = [];
    const warn = (...line: unknown[]) => warnings.push(line);
    const log: Log = { ...silent, warn, child: () => log };
    await start(directory, { provider: { kind: "cuda", devices: [0, 1] } }, 1, log);
    expect(warnings).toEqual([[{ gpus: 2, lanes: 1 }, "there are more GPUs than lanes; set MNEME_LANES"]]);
  });

  test("scores passages as the CPU does", async () => {
    const directory = folder("scores");
    writeObedientGpu(directory);
    const { reranker } = await start(directory);
    for (const { query, passage, logit } of RERANKER_REFERENCE) {
      expect(Math.abs(((await reranker.score(query, [passage]))[0] ?? Number.NaN) - logit), query).toBeLessThan(0.4);
    }
  });

  test("computes questions that arrive together in one batch, and each gets its own vector", async () => {
    const directory = folder("together");
    writeObedientGpu(directory);
    const lanes = await start(directory);
    await Promise.all(TEXTS.map((text) => expectVectors(lanes, [text])));
    expect(lanes.first().provider).toBe("cuda:0");
  });
});

describe("a GPU that fails in the middle", () => {
  test("with an error: the call gets its vectors from the CPU, and later the GPU is used again", async () => {
    const directory = folder("fails");
    const gpu = writeObedientGpu(directory);
    const lanes = await start(directory, { retryFirstMs: 200 });
    await expectVectors(lanes);
    gpu.set("fail");
    await expectVectors(lanes);
    expect(lanes.first().provider).toStartWith("cpu");
    expect(lanes.first().gpuFallback).toBe("CUDA failure 700: an illegal memory access was encountered");
    expect(lanes.first().gpuFailures).toBe(1);
    gpu.set("ok");
    await until("the GPU is used again", () => lanes.first().provider === "cuda:0");
    expect(lanes.first().gpuFallback).toBeNull();
    await expectVectors(lanes);
  });

  test("with a crash: the call is repeated on the CPU, also if all calls of a lane crash", async () => {
    const directory = folder("crashes");
    const gpu = writeObedientGpu(directory);
    const lanes = await start(directory);
    gpu.set("abort");
    await Promise.all(TEXTS.map((text) => expectVectors(lanes, [text])));
    expect(lanes.first().provider).toStartWith("cpu");
    expect(lanes.first().gpuFallback).toBe("the process that used it ended; the log says how");
    await expectVectors(lanes);
    expect(lanes.first().restarts).toBe(1);
  });

  test("again and again: every call is answered", async () => {
    const directory = folder("again");
    const gpu = writeObedientGpu(directory);
    const lanes = await start(directory, { retryFirstMs: 1 });
    gpu.set("fail");
    for (let round = 0; round < 3; round += 1) {
      const failures = lanes.first().gpuFailures;
      await until("another failure", async () => {
        await expectVectors(lanes, TEXTS.slice(0, 3));
        return lanes.first().gpuFailures > failures;
      });
    }
    gpu.set("ok");
    await until("the GPU is used again", () => lanes.first().provider === "cuda:0");
    await expectVectors(lanes);
  });
});
