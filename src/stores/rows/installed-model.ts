// Converts rows of the table `installed_models`.

import type { CalibrationJob } from "../../domain/calibration.ts";
import type { AddedModel, FittedTunings, RemoteModel } from "../../domain/installed-model.ts";

/** The columns of an InstalledModelRow, for SELECT. */
export const INSTALLED_MODEL_COLUMNS = `model_key, id, task, kind, source, sha256, remote, dimensions, tokens_max, languages,
  licence, fingerprint, is_calibrated, manifest_sha256, status, bytes_done, bytes_total, error, tunings, calibration_job, created_at`;

/** A row of `installed_models`. */
export interface InstalledModelRow {
  readonly model_key: bigint;
  readonly id: string;
  readonly task: string;
  readonly kind: string;
  readonly source: string | null;
  readonly sha256: string | null;
  /** JSON of a RemoteModel. */
  readonly remote: string | null;
  readonly dimensions: bigint | null;
  readonly tokens_max: bigint | null;
  /** JSON. */
  readonly languages: string;
  readonly licence: string | null;
  readonly fingerprint: string | null;
  readonly is_calibrated: bigint;
  readonly manifest_sha256: string | null;
  readonly status: string;
  readonly bytes_done: bigint | null;
  readonly bytes_total: bigint | null;
  readonly error: string | null;
  /** JSON. */
  readonly tunings: string;
  /** JSON of a CalibrationJob. */
  readonly calibration_job: string | null;
  readonly created_at: bigint;
}

/** Converts a row to an AddedModel. */
export function toAddedModel(row: InstalledModelRow): AddedModel {
  const numberOf = (value: bigint | null) => (value === null ? null : Number(value));
  return {
    key: row.model_key,
    id: row.id,
    task: row.task as AddedModel["task"],
    kind: row.kind as AddedModel["kind"],
    source: row.source,
    sha256: row.sha256,
    remote: row.remote === null ? null : (JSON.parse(row.remote) as RemoteModel),
    dimensions: numberOf(row.dimensions),
    tokensMax: numberOf(row.tokens_max),
    languages: JSON.parse(row.languages) as string[],
    licence: row.licence,
    fingerprint: row.fingerprint,
    isCalibrated: row.is_calibrated === 1n,
    manifestSha256: row.manifest_sha256,
    status: row.status as AddedModel["status"],
    progress:
      row.bytes_done === null ? null : { bytesDone: Number(row.bytes_done), bytesTotal: numberOf(row.bytes_total) },
    error: row.error,
    tunings: JSON.parse(row.tunings) as FittedTunings,
    calibrationJob: row.calibration_job === null ? null : (JSON.parse(row.calibration_job) as CalibrationJob),
    createdAt: Number(row.created_at),
  };
}

/** The values of a model's columns, by name, without those that only the store knows, and those of calibrations. */
export function installedModelValues(
  model: Omit<AddedModel, "key" | "createdAt" | "tunings" | "calibrationJob">,
): Readonly<Record<string, string | number | null>> {
  const { remote, languages, progress, isCalibrated, ...same } = model;
  return {
    ...same,
    remote: remote === null ? null : JSON.stringify(remote),
    languages: JSON.stringify(languages),
    bytesDone: progress?.bytesDone ?? null,
    bytesTotal: progress?.bytesTotal ?? null,
    isCalibrated: isCalibrated ? 1 : 0,
  };
}
