// Folders of GPU libraries for tests: some that cannot be loaded, and one with a library in which the CPU stands for
// the GPU and fails on demand. Machines with a C compiler only, as building the native core needs one, too.

import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ONNXRUNTIME_VERSION } from "../../../src/adapters/inference/gpu/provider-library.ts";
import { ROOT } from "../../support/sources.ts";

/** The library of onnxruntime-node. */
const REAL_LIBRARY = join(ROOT, `node_modules/onnxruntime-node/bin/napi-v6/linux/${process.arch}/libonnxruntime.so.1`);
const PROVIDERS = ["libonnxruntime_providers_shared.so", "libonnxruntime_providers_cuda.so"] as const;

/** Fills a folder with the real libonnxruntime, and providers that are no libraries. */
export function writeGarbageProviders(folder: string): void {
  symlinkSync(REAL_LIBRARY, join(folder, `libonnxruntime.so.${ONNXRUNTIME_VERSION}`));
  for (const name of PROVIDERS) writeFileSync(join(folder, name), "this is no library\n".repeat(100));
}

/** Fills a folder with a library whose CUDA provider ends the process that loads it. */
export function writeCrashingProvider(folder: string): void {
  symlinkSync(REAL_LIBRARY, join(folder, `libonnxruntime.so.${ONNXRUNTIME_VERSION}`));
  const source = "#include <stdlib.h>\n__attribute__((constructor)) static void start(void) { abort(); }\n";
  for (const name of PROVIDERS) compile(source, join(folder, name), []);
}

/** A GPU that obeys the test. */
export interface ObedientGpu {
  /** What the next computations do. */
  set(command: "ok" | "fail" | "abort"): void;
  /** Number of the GPU that was asked for last. */
  device(): number;
}

/** Fills a folder with a libonnxruntime whose GPU is the CPU. */
export function writeObedientGpu(folder: string): ObedientGpu {
  const control = join(folder, "control");
  const versions = join(folder, "versions");
  writeFileSync(versions, `VERS_${ONNXRUNTIME_VERSION} { global: OrtGetApiBase; local: *; };\n`);
  const source = readFileSync(join(import.meta.dir, "fixtures/broken-cuda.c"), "utf8");
  compile(source, join(folder, `libonnxruntime.so.${ONNXRUNTIME_VERSION}`), [
    `-DREAL="${REAL_LIBRARY}"`,
    `-DCONTROL="${control}"`,
    `-Wl,-soname,libonnxruntime.so.1,--version-script=${versions}`,
  ]);
  for (const name of PROVIDERS) writeFileSync(join(folder, name), "");
  const set = (command: string) => writeFileSync(control, command);
  set("ok");
  return { set, device: () => Number(readFileSync(`${control}.device`, "utf8")) };
}

function compile(source: string, output: string, flags: readonly string[]): void {
  const command = [process.env.CC ?? "cc", "-shared", "-fPIC", "-x", "c", "-", "-o", output, ...flags, "-ldl"];
  const { success, stderr } = Bun.spawnSync(command, { stdin: Buffer.from(source) });
  if (!success) throw new Error(`the C compiler failed: ${stderr.toString()}`);
}
