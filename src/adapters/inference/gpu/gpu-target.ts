// The GPU that a lane is given, and the size of the batches that it computes there.

/** The GPU on which a lane computes. */
export interface GpuTarget {
  /** Number of the GPU, as CUDA counts. */
  readonly device: number;
  /** Maximum number of tokens of one batch, padding included. */
  readonly batchTokensMax: number;
}

/** Environment variable with the `GpuTarget` of a lane as JSON. A lane without it computes on the CPU. */
export const GPU_VARIABLE = "MNEME_LANE_GPU";

const MIB = 2 ** 20;
/**
 * Memory that a lane takes on its GPU besides batches: CUDA itself, its kernels, and models. An idle lane with the two
 * default models took 1,038 MiB on an H200 (nvidia-smi); two further models take 100 MiB.
 */
const FIXED_BYTES = 1152 * MIB;
/**
 * Memory per token of a batch. With 32-bit floats on the CPU, it is 52 KB for mneme-e5-small (docs/measurements.md). A
 * GPU's floats are half as large, but its allocator may reserve up to twice what is used.
 */
const BYTES_PER_TOKEN = 64 * 1024;
/** Maximum number of tokens of a batch. More would make the GPU no faster, and the next batch would wait longer. */
const BATCH_TOKENS_MAX = 16_384;
/** Minimum number of tokens of a batch, so that the longest input of a model fits. */
const BATCH_TOKENS_MIN = 512;

/** Smallest memory limit that can be set, in MiB. */
export const GPU_MEMORY_MIN_MIB = (FIXED_BYTES + BATCH_TOKENS_MIN * BYTES_PER_TOKEN) / MIB;

/**
 * Maximum number of tokens of a batch with which a lane stays below a memory limit. onnxruntime-node cannot pass a
 * limit on to the GPU, so the size of the batches keeps the memory small.
 */
export function batchTokensFor(memoryBytesMax: number | null): number {
  if (memoryBytesMax === null) return BATCH_TOKENS_MAX;
  const tokens = Math.floor((memoryBytesMax - FIXED_BYTES) / BYTES_PER_TOKEN);
  return Math.min(BATCH_TOKENS_MAX, Math.max(BATCH_TOKENS_MIN, tokens));
}
