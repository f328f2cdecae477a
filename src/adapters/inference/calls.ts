// Calls that run models: builds the request for a slice of them, and copies the lane's answer into their results.
// lanes.ts queues the calls and sends the requests.

import type { ChildMessage } from "../../children/serve.ts";
import { Fault, invariant } from "../../domain/fault.ts";
import type { Priority } from "../../ports/models.ts";
import type { LaneRequest } from "./lane-protocol.ts";
import { isOfPairs, type Slice, type Unit } from "./schedule.ts";

/** Maximum difference between a vector's squared length and 1; allows for rounding. */
const SQUARED_LENGTH_TOLERANCE = 1e-2;

/** A call that is not finished, and the functions that settle its promise. */
export interface Call {
  readonly priority: Priority;
  /** Whose work it is, and how much of it is left: see `IngestCall`. */
  readonly share: string;
  readonly tokensLeft: number;
  /** Called once, when the first unit is sent to a lane; then undefined. */
  onBegin: (() => void) | undefined;
  /** The result, with `width` values per text. Filled in as units are answered. */
  readonly output: Float32Array;
  readonly width: number;
  /** Number of units that are not answered yet. */
  unitsLeft: number;
  isSettled: boolean;
  readonly resolve: (output: Float32Array) => void;
  readonly reject: (reason: unknown) => void;
}

/** Builds the request to a lane for a slice. */
export function requestOf(slice: Slice<Call>): LaneRequest {
  const { model, priority } = slice;
  if (isOfPairs(slice)) {
    const [{ query, passages, earlyExit }] = slice.units;
    return slice.op === "read"
      ? { op: "read", model, query, passages }
      : { op: "score", model, query, passages, earlyExit };
  }
  const texts = slice.units.map((unit) => unit.text);
  return slice.op === "count"
    ? { op: "count", model, texts }
    : { op: "embed", model, texts, isUrgent: priority === "query" };
}

/** A call that cannot be answered, because the model computed something that is not a vector or score. */
export interface DamagedCall {
  readonly owner: Call;
  readonly fault: Fault;
}

/**
 * Copies the values of an answer into the results of the calls, and settles the calls that are complete. Returns the
 * calls that the caller has to fail: a vector with NaN in an index would match every search at distance 0.
 */
export function deliver(slice: Slice<Call>, answer: ChildMessage): readonly DamagedCall[] {
  const values = new Float32Array(answer.payload?.buffer ?? new ArrayBuffer());
  const damaged: DamagedCall[] = [];
  let at = 0;
  for (const unit of slice.units) {
    const { owner } = unit;
    const indices = isOfPairs(unit) ? unit.indices : [unit.index];
    const rows = values.subarray(at, at + indices.length * owner.width);
    invariant(rows.length === indices.length * owner.width, "a lane returned too few values");
    at += rows.length;
    const fault = faultOf(unit, rows);
    if (fault !== null) damaged.push({ owner, fault });
    if (fault !== null || owner.isSettled) continue;
    for (const [row, index] of indices.entries()) {
      owner.output.set(rows.subarray(row * owner.width, (row + 1) * owner.width), index * owner.width);
    }
    owner.unitsLeft -= 1;
    if (owner.unitsLeft > 0) continue;
    owner.isSettled = true;
    owner.resolve(owner.output);
  }
  invariant(at === values.length, "a lane returned too many values");
  return damaged;
}

const DAMAGES: Readonly<Record<Unit<Call>["op"], string>> = {
  embed: "a vector that does not have unit length",
  count: "a count that is not a number",
  score: "a score that is not a number",
  read: "a reading that is not a number",
};

/** What is wrong with the vector or the scores of a unit; null if nothing is. */
function faultOf({ op, model }: Unit<Call>, values: Float32Array): Fault | null {
  let squaredLength = 0;
  for (const value of values) squaredLength += value * value;
  const isGood =
    op === "embed" ? Math.abs(squaredLength - 1) < SQUARED_LENGTH_TOLERANCE : Number.isFinite(squaredLength);
  if (isGood) return null;
  return new Fault("internal_error", `The model ${model} computed ${DAMAGES[op]}; nothing was stored.`);
}
