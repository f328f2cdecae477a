// The operator's folder of GPU libraries: what is accepted, and what is said about the rest.

import { afterAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { planGpus } from "../../../src/adapters/inference/gpu/gpu-plan.ts";
import { batchTokensFor, GPU_MEMORY_MIN_MIB } from "../../../src/adapters/inference/gpu/gpu-target.ts";
import { linkProviderLibrary, ONNXRUNTIME_VERSION } from "../../../src/adapters/inference/gpu/provider-library.ts";
import { ROOT } from "../../support/sources.ts";

const home = mkdtempSync(join(tmpdir(), "mneme-library-"));
afterAll(() => rmSync(home, { recursive: true }));

const PROVIDERS = ["libonnxruntime_providers_shared.so", "libonnxruntime_providers_cuda.so"];
const MAIN = `libonnxruntime.so.${ONNXRUNTIME_VERSION}`;

/** A folder with files; those without content have the symbols of the expected version. */
function folder(name: string, files: readonly string[], content = `\0VERS_${ONNXRUNTIME_VERSION}\0`): string {
  const path = join(home, name, "onnxruntime/capi");
  mkdirSync(path, { recursive: true });
  for (const file of files) writeFileSync(join(path, file), content);
  return path;
}

test("the expected version is that of onnxruntime-node", () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, "node_modules/onnxruntime-node/package.json"), "utf8"));
  expect(ONNXRUNTIME_VERSION).toBe(version);
});

describe("a folder that is not complete is refused with what is missing", () => {
  test.each([
    ["empty", [], "MNEME_ONNXRUNTIME_DIR has no libonnxruntime_providers_shared.so"],
    ["no-cuda", [MAIN, PROVIDERS[0] ?? ""], "MNEME_ONNXRUNTIME_DIR has no libonnxruntime_providers_cuda.so"],
    ["no-main", PROVIDERS, "MNEME_ONNXRUNTIME_DIR has no libonnxruntime.so"],
  ])("%s", (name, files, reason) => expect(linkProviderLibrary(folder(name, files))).toBe(reason));

  test("a file is no folder", () => {
    const file = join(folder("file", [MAIN]), MAIN);
    expect(linkProviderLibrary(file)).toBe("MNEME_ONNXRUNTIME_DIR is not a folder that can be read");
  });
});

test("a link to nothing is refused", () => {
  const directory = folder("dangling", PROVIDERS);
  symlinkSync(join(home, "nothing"), join(directory, MAIN));
  expect(linkProviderLibrary(directory)).toBe(`MNEME_ONNXRUNTIME_DIR has a ${MAIN} that cannot be read`);
});

test.each([
  ["\0VERS_1.22.0\0", "1.22.0"],
  ["\0VERS_1.300.0\0", "1.300.0"],
  ["no version", "of an unknown version"],
  ["VERS_1.30.0 without an end", "of an unknown version"],
])("another version is refused: %j", (content, found) => {
  const directory = folder(`version-${found}-${content.length}`, [...PROVIDERS, MAIN], content);
  expect(linkProviderLibrary(directory)).toBe(
    `MNEME_ONNXRUNTIME_DIR has onnxruntime ${found}; this Mneme needs ${ONNXRUNTIME_VERSION}`,
  );
});

test.each([[MAIN], ["libonnxruntime.so"], ["libonnxruntime.so.1"]])("%s gets the name that is asked for", (main) => {
  const directory = folder(`accepted-${main}`, [...PROVIDERS, main, "libonnxruntime_providers_tensorrt.so"]);
  const nvidia = join(directory, "../../nvidia/cu13/lib");
  mkdirSync(nvidia, { recursive: true });
  const library = linkProviderLibrary(directory);
  if (typeof library === "string") throw new Error(library);
  const [links = "", ...others] = library.searchFolders;
  expect(readlinkSync(join(links, "libonnxruntime.so.1"))).toBe(join(directory, main));
  for (const name of PROVIDERS) expect(readlinkSync(join(links, name))).toBe(join(directory, name));
  expect(others).toEqual([nvidia]);
  library.close();
  expect(existsSync(links)).toBe(false);
  expect(existsSync(join(directory, main))).toBe(true);
});

describe("the plan", () => {
  const memoryBytesMax = null;
  test("uses no GPU with cpu, or with auto on a machine without libraries", () => {
    for (const kind of ["cpu", "auto"] as const) {
      const plan = planGpus({ provider: { kind }, libraryDir: null, memoryBytesMax });
      expect(plan).toMatchObject({ devices: [], problem: null, isRequested: false });
    }
  });

  test("gives lanes the search path, the GPU and the size of batches, and CUDA's variables", () => {
    process.env.CUDA_TEST_VARIABLE = "1";
    const libraryDir = folder("planned", [...PROVIDERS, MAIN]);
    const plan = planGpus({ provider: { kind: "cuda", devices: [2, 0] }, libraryDir, memoryBytesMax: 2 ** 31 });
    const { LD_LIBRARY_PATH = "", MNEME_LANE_GPU = "", CUDA_TEST_VARIABLE } = plan.environment(2);
    delete process.env.CUDA_TEST_VARIABLE;
    expect(plan).toMatchObject({ devices: [2, 0], problem: null, isRequested: true });
    expect(existsSync(join(LD_LIBRARY_PATH.split(":")[0] ?? "", "libonnxruntime.so.1"))).toBe(true);
    expect(JSON.parse(MNEME_LANE_GPU)).toEqual({ device: 2, batchTokensMax: 14_336 });
    expect(CUDA_TEST_VARIABLE).toBe("1");
    plan.close();
    expect(existsSync(LD_LIBRARY_PATH.split(":")[0] ?? "")).toBe(false);
  });
});

test("less memory makes batches smaller, down to one input of a model", () => {
  const MIB = 2 ** 20;
  expect(batchTokensFor(null)).toBe(16_384);
  expect(batchTokensFor(GPU_MEMORY_MIN_MIB * MIB)).toBe(512);
  expect(batchTokensFor((GPU_MEMORY_MIN_MIB + 1) * MIB)).toBe(528);
  expect(batchTokensFor(64 * 1024 * MIB)).toBe(16_384);
});
