// Calibration of a model: where the curves come from that turn scores into probabilities, and the job that fits them.

import type { ProjectId } from "./ids.ts";

/** Where curves come from; `none`: from nowhere, so that scores are no probabilities. */
export const CALIBRATIONS = ["shipped", "fitted", "none"] as const;
/** One of `CALIBRATIONS`. */
export type Calibration = (typeof CALIBRATIONS)[number];

/** States of a calibration. One that has ended well is not kept. */
export const CALIBRATION_STATES = ["waiting", "running", "failed"] as const;
/** One of `CALIBRATION_STATES`. */
export type CalibrationState = (typeof CALIBRATION_STATES)[number];

/** A calibration of a model that was asked for. */
export interface CalibrationJob {
  /** Grows with each calibration of the model. */
  readonly number: number;
  /** The project whose texts are stored beside the judged samples; null: none. */
  readonly projectId: ProjectId | null;
  readonly state: CalibrationState;
  /** Number of searches that were made. */
  readonly done: number;
  /** Number of all searches; null until it is known. */
  readonly total: number | null;
  /** Why it failed, or waits for another attempt, in one sentence; otherwise null. */
  readonly error: string | null;
}
