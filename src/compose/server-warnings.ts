// What limits a server that is up, in words for its operator.

import type { LaneStatus } from "../adapters/inference/lane-state.ts";
import type { ModelProblems } from "../ports/models.ts";

/** A line per GPU that cannot be used, and per model that should be on this node and is not. */
export function serverWarnings(lanes: readonly LaneStatus[], problems: ModelProblems): readonly string[] {
  return [
    ...[...new Set(lanes.flatMap(({ gpuFallback }) => gpuFallback ?? []))].map(
      (why) => `the GPU cannot be used, so the CPU computes: ${why}`,
    ),
    ...[...problems].map(([id, why]) => `the model ${id} cannot be used: ${why}`),
  ];
}
