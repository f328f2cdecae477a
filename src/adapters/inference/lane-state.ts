// The state of one lane, and what follows from it: whether it accepts requests, and whether waiting for it makes sense.
// lanes.ts changes the state.

import type { ChildState, SupervisedChild } from "../../children/supervisor.ts";
import { invariant } from "../../domain/fault.ts";
import type { LaneGpu } from "./gpu/lane-gpu.ts";
import type { LoadedModel } from "./lane-protocol.ts";
import type { LaneRole } from "./schedule.ts";

/** State of one lane, for `/ready` and metrics. */
export interface LaneStatus {
  readonly name: string;
  readonly status: ChildState["status"];
  /** null if the lane is not up. */
  readonly pid: number | null;
  readonly restarts: number;
  /** Resident memory in bytes; 0 if not known yet. */
  readonly rssBytes: number;
  /** Runtime of the models, as reported by the lane; null if the lane is not up. */
  readonly provider: string | null;
  /** Number of requests that the lane has not answered yet. */
  readonly inFlight: number;
  /** Why the lane refuses to run; null if it does not. */
  readonly refusal: string | null;
  /** Why the lane computes on the CPU although the operator asked for a GPU; null if it does not. */
  readonly gpuFallback: string | null;
  /** Number of times that the lane's GPU failed since the start of the server. */
  readonly gpuFailures: number;
}

/** A lane: a process that runs the models, and what the server knows of it. */
export interface Lane {
  readonly name: string;
  readonly role: LaneRole;
  child: SupervisedChild | null;
  /** null if the lane always computes on the CPU. */
  gpu: LaneGpu | null;
  /** Why the lane cannot try the GPU that the operator asked for; null if it can, or if nobody asked. */
  readonly gpuProblem: string | null;
  /** Number of requests that the lane has not answered yet. */
  inFlight: number;
  /** Whether its last slice was query work. */
  tookQueryLast: boolean;
  /** What the lane said about the models that it loaded since it is up, by id. */
  readonly loaded: Map<string, LoadedModel>;
}

/** Number of failures in a row after which calls do not wait for a lane any more. */
const FAILURES_HOPELESS = 3;

/** Returns the roles of `count` lanes. */
export function laneRoles(count: number): readonly LaneRole[] {
  invariant(Number.isInteger(count) && count >= 1, `${count} is not a number of lanes`);
  if (count === 1) return ["only"];
  return ["query", ...Array<LaneRole>(count - 1).fill("ingest")];
}

/**
 * Whether the lane runs this reranker with early exit. true if the lane is not up, because such a lane does not rule
 * out early exit; false if it has not loaded the model yet.
 */
export function supportsEarlyExit(lane: Lane, model: string): boolean {
  return !isUp(lane) || lane.loaded.get(model)?.supportsEarlyExit === true;
}

/** Whether the lane accepts requests. */
export function isUp(lane: Lane): boolean {
  return lane.child?.state().status === "up";
}

/**
 * Whether waiting for the lane makes sense: it is up or being replaced, or it is starting and has not failed too often
 * in a row.
 */
export function isExpected(lane: Lane): boolean {
  const state = lane.child?.state();
  if (state === undefined) return true;
  switch (state.status) {
    case "up":
    case "draining":
      return true;
    case "starting":
    case "waiting":
      return state.failures < FAILURES_HOPELESS;
    case "refused":
    case "closed":
      return false;
  }
}

/** The state of a lane, for `/ready` and metrics. */
export function statusOf(lane: Lane): LaneStatus {
  const { name, child, inFlight, loaded, gpu } = lane;
  const state: ChildState = child?.state() ?? { status: "starting", failures: 0 };
  return {
    name,
    status: state.status,
    pid: state.status === "up" || state.status === "draining" ? state.pid : null,
    restarts: child?.restarts() ?? 0,
    rssBytes: child?.rssBytes() ?? 0,
    provider: state.status === "up" ? providersOf(loaded) : null,
    inFlight,
    refusal: state.status === "refused" ? state.reason : null,
    gpuFallback: lane.gpuProblem ?? gpu?.fallback ?? null,
    gpuFailures: gpu?.failures ?? 0,
  };
}

/** The runtimes of a lane's models, such as `cpu-native and cpu`. */
function providersOf(loaded: Lane["loaded"]): string {
  return [...new Set(loaded.values().map(({ provider }) => provider))].join(" and ");
}
