// Decides at the start which lane computes on which GPU, or why none does.

import { readdirSync } from "node:fs";
import { batchTokensFor, GPU_VARIABLE, type GpuTarget } from "./gpu-target.ts";
import type { ModelProvider } from "./model-provider.ts";
import { linkProviderLibrary } from "./provider-library.ts";

/** The operator's settings about GPUs. */
export interface GpuOptions {
  readonly provider: ModelProvider;
  /** Folder with onnxruntime's GPU libraries; null if there is none. */
  readonly libraryDir: string | null;
  /** Memory that a lane may take on its GPU; null: as much as is useful. */
  readonly memoryBytesMax: number | null;
  /** Pause before the first new attempt after a failure, in milliseconds. Default: 1 minute. */
  readonly retryFirstMs?: number;
}

/** Which lane computes on which GPU. */
export interface GpuPlan {
  /** Whether the operator asked for GPUs. If so, a GPU that cannot be used is a warning. */
  readonly isRequested: boolean;
  /**
   * Why no lane can try a GPU; null if lanes can. Also null if the setting is `cpu`, or if it is `auto` and there is no
   * driver or no folder with libraries.
   */
  readonly problem: string | null;
  /** Numbers of the GPUs, which are dealt to the lanes in turns. Empty if all lanes compute on the CPU. */
  readonly devices: readonly number[];
  /** Environment variables of a lane that tries a GPU. */
  environment(device: number): Readonly<Record<string, string>>;
  /** Removes the links to the libraries. */
  close(): void;
}

/** Variables that CUDA reads. Lanes that compute on a GPU inherit them. */
const CUDA_VARIABLES = /^(CUDA|NVIDIA|CUDNN|CUBLAS)_/;
/** Device files of NVIDIA's driver: on Linux, and on Linux within Windows (WSL). */
const DRIVER_DEVICES = /^(nvidia\d+|dxg)$/;

/** Checks the settings and the libraries. The lanes then find out whether the GPUs work. */
export function planGpus({ provider, libraryDir, memoryBytesMax }: GpuOptions): GpuPlan {
  if (provider.kind === "cpu") return withoutGpus(null, false);
  const isRequested = provider.kind === "cuda";
  if (!isRequested && (libraryDir === null || !isDriverPresent())) return withoutGpus(null, false);
  if (libraryDir === null) return withoutGpus("MNEME_ONNXRUNTIME_DIR is not set", true);
  const library = linkProviderLibrary(libraryDir);
  if (typeof library === "string") return withoutGpus(library, isRequested);
  const batchTokensMax = batchTokensFor(memoryBytesMax);
  const inherited = Object.entries(process.env).filter(([name]) => CUDA_VARIABLES.test(name));
  const searchPath = library.searchFolders.concat(process.env.LD_LIBRARY_PATH ?? []).join(":");
  return {
    isRequested,
    problem: null,
    devices: isRequested ? provider.devices : [0],
    environment: (device) => ({
      ...Object.fromEntries(inherited.map(([name, value]) => [name, value ?? ""])),
      LD_LIBRARY_PATH: searchPath,
      [GPU_VARIABLE]: JSON.stringify({ device, batchTokensMax } satisfies GpuTarget),
    }),
    close: () => library.close(),
  };
}

function withoutGpus(problem: string | null, isRequested: boolean): GpuPlan {
  return { isRequested, problem, devices: [], environment: () => ({}), close: () => undefined };
}

function isDriverPresent(): boolean {
  return readdirSync("/dev").some((name) => DRIVER_DEVICES.test(name));
}
