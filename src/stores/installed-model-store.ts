// Implements InstalledModelStore: one row per model that was added.

import type { CalibrationJob } from "../domain/calibration.ts";
import { Fault } from "../domain/fault.ts";
import type { ProjectId } from "../domain/ids.ts";
import type { AddedModel, FittedTunings } from "../domain/installed-model.ts";
import { LIMITS } from "../domain/limits.ts";
import type { CursorBinding } from "../domain/page.ts";
import type { InstalledModelStore, ModelUpdate, NewModel } from "../ports/installed-model-store.ts";
import type { StoreContext } from "./context.ts";
import { modelsCursorBinding } from "./cursor-binding.ts";
import {
  INSTALLED_MODEL_COLUMNS,
  type InstalledModelRow,
  installedModelValues,
  toAddedModel,
} from "./rows/installed-model.ts";
import type { Session } from "./session.ts";

const LIST = `SELECT ${INSTALLED_MODEL_COLUMNS} FROM installed_models ORDER BY model_key`;
const GET = `SELECT ${INSTALLED_MODEL_COLUMNS} FROM installed_models WHERE id = $id`;
const COUNT = "SELECT count(*) AS n FROM installed_models";
const ADD = `INSERT INTO installed_models (id, task, kind, source, sha256, remote, dimensions, tokens_max, languages,
    licence, fingerprint, is_calibrated, manifest_sha256, status, bytes_done, bytes_total, error, tunings, created_at)
  VALUES ($id, $task, $kind, $source, $sha256, $remote, $dimensions, $tokensMax, $languages, $licence, $fingerprint,
    $isCalibrated, $manifestSha256, $status, $bytesDone, $bytesTotal, $error, '{}', $now)
  ON CONFLICT (id) DO NOTHING`;
const CHANGE = `UPDATE installed_models SET task = $task, remote = $remote, dimensions = $dimensions,
    tokens_max = $tokensMax, languages = $languages, licence = $licence, fingerprint = $fingerprint,
    is_calibrated = $isCalibrated,
    manifest_sha256 = $manifestSha256, status = $status, bytes_done = $bytesDone, bytes_total = $bytesTotal,
    error = $error
  WHERE model_key = $key`;
const NEXT_NUMBER = `UPDATE installed_models SET calibration_number = calibration_number + 1 WHERE id = $id
  RETURNING calibration_number AS number`;
const SET_JOB = "UPDATE installed_models SET calibration_job = $job WHERE id = $id";
const IS_WANTED = "model_key = $key AND calibration_number = $number AND calibration_job IS NOT NULL";
const NOTE = `UPDATE installed_models SET calibration_job = $job WHERE ${IS_WANTED}`;
const FINISH = `UPDATE installed_models SET calibration_job = NULL, tunings = $tunings WHERE ${IS_WANTED}`;
const CANCEL = "UPDATE installed_models SET calibration_job = NULL WHERE id = $id AND calibration_job IS NOT NULL";
const GET_TUNINGS = "SELECT tunings FROM installed_models WHERE model_key = $key";
const SET_TUNINGS = "UPDATE installed_models SET tunings = $tunings WHERE id = $id";
const REMOVE = "DELETE FROM installed_models WHERE id = $id";

/** Models that were added. */
export class StoredModels implements InstalledModelStore {
  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
  ) {}

  async list(): Promise<readonly AddedModel[]> {
    return (await this.session.all<InstalledModelRow>(LIST)).map(toAddedModel);
  }

  async get(id: string): Promise<AddedModel | null> {
    const row = await this.session.get<InstalledModelRow>(GET, { id });
    return row === null ? null : toAddedModel(row);
  }

  async add(model: NewModel): Promise<AddedModel> {
    const counted = await this.session.get<{ n: bigint }>(COUNT);
    if (Number(counted?.n ?? 0n) >= LIMITS.installedModels) {
      const message = `There are ${LIMITS.installedModels} models, which is the limit. Delete some that are not used.`;
      throw new Fault("invalid_request", message);
    }
    const now = this.context.clock.now();
    const added = await this.session.run(ADD, { ...installedModelValues(model), now });
    const found = added === 0 ? null : await this.get(model.id);
    if (found !== null) return found;
    throw new Fault("invalid_state", `There is a model ${model.id} already. Delete it, or choose another id.`, {
      param: "id",
    });
  }

  async change(id: string, update: ModelUpdate): Promise<boolean> {
    const before = await this.get(id);
    if (before === null) return false;
    const { key, createdAt: _, tunings: __, calibrationJob: ___, ...model } = { ...before, ...update };
    return (await this.session.run(CHANGE, { ...installedModelValues(model), key })) > 0;
  }

  async remove(id: string): Promise<boolean> {
    for (const { id: other, tunings } of await this.list()) {
      const { [id]: stale, ...rest } = tunings;
      if (stale !== undefined) await this.session.run(SET_TUNINGS, { id: other, tunings: JSON.stringify(rest) });
    }
    return (await this.session.run(REMOVE, { id })) > 0;
  }

  async askCalibration(id: string, projectId: ProjectId | null): Promise<boolean> {
    const counted = await this.session.get<{ number: bigint }>(NEXT_NUMBER, { id });
    if (counted === null) return false;
    const number = Number(counted.number);
    const job: CalibrationJob = { number, projectId, state: "waiting", done: 0, total: null, error: null };
    return (await this.session.run(SET_JOB, { id, job: JSON.stringify(job) })) > 0;
  }

  async noteCalibration(key: bigint, job: CalibrationJob): Promise<boolean> {
    return (await this.session.run(NOTE, { key, number: job.number, job: JSON.stringify(job) })) > 0;
  }

  async finishCalibration(key: bigint, number: number, fitted: FittedTunings): Promise<boolean> {
    const before = await this.session.get<Pick<InstalledModelRow, "tunings">>(GET_TUNINGS, { key });
    if (before === null) return false;
    const tunings = JSON.stringify({ ...(JSON.parse(before.tunings) as FittedTunings), ...fitted });
    return (await this.session.run(FINISH, { key, number, tunings })) > 0;
  }

  async cancelCalibration(id: string): Promise<boolean> {
    return (await this.session.run(CANCEL, { id })) > 0;
  }

  cursorBinding(task: string | null): Promise<CursorBinding> {
    return modelsCursorBinding(this.session, task);
  }
}
