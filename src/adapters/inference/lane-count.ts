// Chooses the number of lanes if the operator does not set it.

/** What the number of lanes depends on. */
export interface LaneCountBasis {
  /** Number of cores that this process may use. */
  readonly cores: number;
  /** Memory that this process may use, in bytes. */
  readonly memoryBytes: number;
  /** Number of GPUs that compute the models. */
  readonly gpus: number;
}

/** With two, one lane prepares its batch while the other one computes. */
const LANES_PER_GPU = 2;
/** One lane for queries and one for ingestion, so that neither waits for the other. */
const LANES_MIN = 2;
/** Maximum number of lanes, chosen here or set by the operator. */
export const LANES_MAX = 64;
/** Memory of the machine per lane. A lane takes 165 to 250 MB; the rest is for the server, the stores and the files. */
const MACHINE_BYTES_PER_LANE = 2 ** 30;

/** Returns one lane per core as far as the memory allows, at least two; or two per GPU. */
export function laneCountFor({ cores, memoryBytes, gpus }: LaneCountBasis): number {
  if (gpus > 0) return Math.min(LANES_MAX, gpus * LANES_PER_GPU);
  const fitting = Math.floor(memoryBytes / MACHINE_BYTES_PER_LANE);
  return Math.max(LANES_MIN, Math.min(cores, fitting, LANES_MAX));
}
